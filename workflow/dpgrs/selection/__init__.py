"""Private choices of variants."""
