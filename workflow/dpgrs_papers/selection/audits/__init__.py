"""Worst-case inputs of these choices, for audits."""
