"""PLINK files."""
