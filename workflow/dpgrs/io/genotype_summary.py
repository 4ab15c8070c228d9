"""The numbers behind the page on genotypes of a cohort, as a file; it holds values of single people."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.files import load_arrays, save_arrays

CALL_EDGES = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)


@dataclass(frozen=True)
class GenotypeSummary:
    """Diversity of some people at some variants."""

    n_variants: int  # on which all but `decay` is measured
    n_known: int  # people of the cohort, of whom those below are some or all
    # (len(CALL_EDGES) + 1,) int64, variants, of all read, with call rates from one edge to the next; last
    # those without a missing allele
    variant_calls: np.ndarray
    person_calls: np.ndarray  # the same of people
    population: np.ndarray  # (n_people,) str; empty if nothing is known of any
    heterozygosity: np.ndarray  # (n_people,) float64, share of heterozygous calls
    components: np.ndarray  # (n_people, 2) float64
    explained: np.ndarray  # (2,) float64, their shares of the variance
    names: np.ndarray  # (n_populations,) str, the largest populations
    sizes: np.ndarray  # (n_populations,) int64, their people, here
    observed: np.ndarray  # (n_populations,) float64, mean heterozygosity
    expected: np.ndarray  # the same, by allele frequencies
    fst: np.ndarray  # (n_populations, n_populations) float64, NaN on the diagonal
    edges: np.ndarray  # (n_bins + 1,) float64, distances in bases
    decay: np.ndarray  # (n_bins,) float64, mean r^2 of pairs of variants at these distances; NaN for too few
    n_pairs: np.ndarray  # (n_bins,) int64

    def save(self, path: Path | str) -> None:
        """Write it as one file."""
        save_arrays(path, {name: np.asarray(field) for name, field in asdict(self).items()})

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read what `save` wrote."""
        arrays: dict[str, Any] = load_arrays(path)
        if arrays.keys() != cls.__dataclass_fields__.keys():
            raise DpgrsError(
                "not-a-genotype-summary",
                f"`{path}` must be a summary of genotypes. Make it: dpgrs summarise-genotypes",
            )
        return cls(**arrays | {name: int(arrays[name]) for name in ("n_variants", "n_known")})
