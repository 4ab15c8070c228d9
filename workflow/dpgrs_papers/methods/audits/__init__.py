"""Worst-case inputs of the mechanisms of these methods, for audits."""
