"""Figures and tables of the papers, an experiment a module."""
