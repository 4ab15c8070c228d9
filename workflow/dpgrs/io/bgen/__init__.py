"""BGEN 1.2 and 1.3: genotype probabilities, with phase or without."""
