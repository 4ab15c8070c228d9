"""Numbers from genotypes on arrays: counts, equilibrium, linkage and diversity."""
