"""Regression methods: what each draws, and how its weights are fitted."""
