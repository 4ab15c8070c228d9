"""What is checked before any job."""
