"""What a study would spend, and what accuracy to expect of it, before anything is touched."""
