"""Choosing variants: scores of all variants for all outcomes as exact integers."""
