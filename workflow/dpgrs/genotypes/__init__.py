"""What genotypes say of themselves, on arrays alone: counts, equilibrium, linkage and diversity."""
