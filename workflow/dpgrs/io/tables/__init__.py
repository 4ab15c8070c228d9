"""Tables of people and outcomes."""
