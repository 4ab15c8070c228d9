"""What the page on genotypes shows of a cohort, as a file; it holds values of single people."""

from dataclasses import asdict, dataclass

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.files import load_arrays, save_arrays

CALL_EDGES = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)


@dataclass(frozen=True)
class GenotypeSummary:
    """Diversity of some people at some variants.

    Attributes
    ----------
    n_variants : int, variants that all but `decay` is measured on.
    n_known : int, people of the cohort, of whom those below are some or all.
    variant_calls, person_calls : (len(CALL_EDGES) + 1,) int64, how many variants of all that were read, and
        people, have call rates below each edge, from the one before; last those without a missing allele.
    population : (n_people,) str; empty where nothing is known of any.
    heterozygosity : (n_people,) float64, share of heterozygous calls.
    components : (n_people, 2) float64
    explained : (2,) float64, their shares of the variance.
    names : (n_populations,) str, the largest populations.
    sizes : (n_populations,) int64, their people, here.
    observed, expected : (n_populations,) float64, mean heterozygosity.
    fst : (n_populations, n_populations) float64, NaN on the diagonal.
    edges : (n_bins + 1,) float64, distances in bases.
    decay : (n_bins,) float64, mean r^2 of pairs of variants at these distances; NaN for too few pairs.
    n_pairs : (n_bins,) int64
    """

    n_variants: int
    n_known: int
    variant_calls: np.ndarray
    person_calls: np.ndarray
    population: np.ndarray
    heterozygosity: np.ndarray
    components: np.ndarray
    explained: np.ndarray
    names: np.ndarray
    sizes: np.ndarray
    observed: np.ndarray
    expected: np.ndarray
    fst: np.ndarray
    edges: np.ndarray
    decay: np.ndarray
    n_pairs: np.ndarray

    def save(self, path):
        """Write it as one file."""
        save_arrays(path, {name: np.asarray(value) for name, value in asdict(self).items()})

    @classmethod
    def load(cls, path):
        """Read what `save` wrote.

        Raises
        ------
        DpgrsError
            If the file is missing or of another kind.
        """
        arrays = load_arrays(path)
        if arrays.keys() != cls.__dataclass_fields__.keys():
            raise DpgrsError(f"`{path}` must be a summary of genotypes. Make it: dpgrs summarise-genotypes")
        return cls(**arrays | {name: int(arrays[name]) for name in ("n_variants", "n_known")})
