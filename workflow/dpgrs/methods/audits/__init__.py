"""Worst-case inputs of the methods' mechanisms."""
