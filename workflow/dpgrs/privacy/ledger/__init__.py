"""What was charged to a dataset."""
