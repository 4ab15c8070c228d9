"""Simulated cohorts and outcomes."""
