"""What a study asks for, by which it is known again, and what it costs."""
