"""The charges to a dataset."""
