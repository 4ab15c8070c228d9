"""Worst-case inputs of the choices."""
