"""Checks of a study before any job."""
