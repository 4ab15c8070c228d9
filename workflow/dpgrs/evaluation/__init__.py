"""Held-out rows and how well a fit predicts them."""
