"""Scores applied to people: which variants are there, sums, and what is said of both."""
