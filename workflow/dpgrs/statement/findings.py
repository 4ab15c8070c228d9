"""What a statement says of that which a fit found out about outcomes and the public files that it used."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

MOST_NAMED = 20
# From here on a warning: the panel is worth no more than so many random rows of the cohort's own population.
FEW_ROWS = 100


def mismatch_in_words(mismatch: np.ndarray) -> str:
    """Say what a mismatch was found to be, (2,) as a `Mismatch`, for a statement."""
    chance, steepness = mismatch
    if not (chance or steepness):
        return (
            "No difference between the public genotypes and the cohort's was seen, which does not say that "
            "there is none."
        )
    differences = _differences(chance, steepness)
    return f"The public genotypes were found to differ from the cohort's: {' and '.join(differences)}."


def misfit_in_words(
    fits: Iterable[Mapping[str, np.ndarray]],  # as from `LinearFit.arrays`
) -> list[str]:
    """Say how badly public genotypes fit the cohort, if they do: by the median of all fits.

    The result is a line, or none.
    """
    mismatches = [arrays["mismatch"] for arrays in fits if "mismatch" in arrays]
    chance, steepness = np.median(mismatches, axis=0) if mismatches else (0.0, 0.0)
    if chance * FEW_ROWS < 1 and not steepness:
        return []
    words = " and ".join(_differences(chance, steepness))
    return [
        f"Public genotypes differ from the cohort's: {words}. They may be of another ancestry, and then "
        "`methods: blup`, which takes the cohort's own Gram matrix, may serve better. If they are of the "
        "same ancestry, many causal variants may be missing from the score's variants."
    ]


def _differences(chance: float, steepness: float) -> list[str]:
    """Return in words how two populations differ, a list."""
    n_rows = f"{1 / chance:.0f}" if chance else ""
    words = [f"as much as those of {n_rows} random rows of its own population would"] if chance else []
    return words + (["they have less linkage disequilibrium"] if steepness else [])


def share_in_words(share: float) -> str:
    """Say how much of the weights is of the public fit, for a statement."""
    return (
        f"The fit on public genotypes has a share of {share:.2f} in the weights, that on the noisy Gram "
        "matrix the rest."
    )


def causes_in_words(n_factors: int) -> str:
    """Say that outcomes of a genome share causes, for a statement."""
    return (
        f"The released numbers show {n_factors} factors that effects on outcomes share: more than draws from "
        "a public seed, which change signs of linkage blocks. Combinations of outcomes that share none were "
        "fitted, and their effects turned back to outcomes (docs/explanation/genome.md)."
    )


def correlations_in_words(
    names: Sequence[str],  # sequence of n_outcomes str
    correlations: np.ndarray,  # (n_outcomes,) float64
) -> str:
    """Say which genetic correlations with public effects were found: of few outcomes each, of more a
    summary."""
    words = "Genetic correlations with the public effects, as the released numbers tell:"
    correlations = np.round(correlations, 2) + 0.0  # no minus zero
    if len(names) <= MOST_NAMED:
        return f"{words} {', '.join(f'{name} {r:.2f}' for name, r in zip(names, correlations, strict=True))}."
    least, median, most = np.quantile(correlations, (0.0, 0.5, 1.0))
    return f"{words} from {least:.2f} to {most:.2f} of {len(names)} outcomes, median {median:.2f}."
