"""The cost of each draw, and of many together."""
