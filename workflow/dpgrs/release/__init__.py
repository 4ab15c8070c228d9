"""What leaves the curator's hands: scoring files, the statement, and the check that a reader can repeat."""
