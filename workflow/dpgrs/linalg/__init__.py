"""Exact statistics, clips, projections and fits: arrays alone."""
