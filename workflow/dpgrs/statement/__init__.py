"""What a release promises, for programs and people."""
