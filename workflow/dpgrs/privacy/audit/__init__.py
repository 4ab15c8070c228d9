"""Claimed and observed privacy loss."""
