"""Scores applied to people: the matched variants, the sums, and the reports on both."""
