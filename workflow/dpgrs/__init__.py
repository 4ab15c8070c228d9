"""Differentially private genomic risk scores."""

__version__ = "0.1.0"
