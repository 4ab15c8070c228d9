"""The one door of noise: exact samplers, their sources and the study key."""
