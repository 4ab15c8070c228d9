"""Covariates of a study between its steps: columns of X on their public grid, and their constants."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.files import load_arrays, save_arrays
from dpgrs.types import Rows


@dataclass(frozen=True)
class Covariates:
    """Further columns of X that every outcome shares."""

    names: tuple[str, ...]  # those of principal components last
    units: np.ndarray  # (n_covariates, n_rows) int16, entries of X in units of `GENOTYPE_STEP`
    centre: np.ndarray  # (n_covariates,) float64, public; a value is about centre + scale times z
    scale: np.ndarray  # (n_covariates,) float64, public
    bound: float  # the public clip in standard deviations
    rows: Rows

    def of_rows(self, rows: slice) -> Self:
        """Return the covariates of a slice of the rows."""
        return replace(self, units=self.units[:, rows])

    def save(self, path: Path | str) -> None:
        arrays = {"names": np.array(self.names, dtype=str), "rows": np.array(str(self.rows))}
        arrays |= {"units": self.units, "centre": self.centre, "scale": self.scale}
        save_arrays(path, arrays | {"bound": np.float64(self.bound)})

    @classmethod
    def load(cls, path: Path | str | None) -> Self | None:
        """Read covariates; None reads none and gives None."""
        if path is None:
            return None
        arrays = load_arrays(path)
        if not arrays.keys() >= {"names", "units", "centre", "scale", "bound", "rows"}:
            raise DpgrsError(
                "not-covariates",
                f"`{path}` must hold covariates, got another kind of file. Name the right one.",
            )
        return cls(
            tuple(arrays["names"].tolist()),
            arrays["units"],
            arrays["centre"],
            arrays["scale"],
            float(arrays["bound"]),
            Rows(str(arrays["rows"])),
        )
