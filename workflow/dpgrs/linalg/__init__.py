"""Exact statistics, clips, projections and fits: only arrays."""
