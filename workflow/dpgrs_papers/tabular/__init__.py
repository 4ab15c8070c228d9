"""Plain tables of features and one outcome: `dpgrs tabular` and `dpgrs choose`."""
