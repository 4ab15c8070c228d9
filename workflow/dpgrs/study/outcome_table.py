"""Outcomes from a table: checked and standardised part by part, in the order of the genotypes."""

import os
import tempfile
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import file_digest
from dpgrs.io.tables.outcome_scales import constants_of, read_scales
from dpgrs.io.tables.people_counts import PeopleCount
from dpgrs.io.tables.phenotypes import OutcomeScale, is_of_arrays, outcome_chunks, outcome_names, standardise
from dpgrs.study.counted_people import TELL_NOBODY, require_enough
from dpgrs.study.table_values import raw_problems
from dpgrs.types import TableCheck


class OutcomeTable:
    """The outcomes of the people of a study, in a file without a name: no more than a part is in memory.

    Names are a list of n_outcomes. Prevalence is (n_outcomes,) float64, NaN for an outcome that is not 0/1,
    and None without constants; population_prevalence likewise, NaN if none is stated.
    """

    def __init__(
        self,
        path: Path | str,
        sample_id: np.ndarray,
        *,
        count: int | None,
        scales: Path | str | None,
        public_digest: str | None,
        least_share: float,
        checks: Collection[TableCheck],
        counts: Path | str | None,
        is_release: bool,
        folder: Path | str,
        is_reference: bool = False,
    ) -> None:
        """Read a table of outcomes for the people of the variant set, (n_people,) str.

        The first `count` outcomes are taken, all if it is None. The public constants of `scales` standardise
        them; None takes them as they are. `public_digest` is the SHA-256 of a public table, None for a
        private one. `least_share`, `checks`, `is_release` and `is_reference` are as in `require_enough`,
        whose output is `counts`; the checks ``scale`` and ``binary`` are of values. `folder` must have room
        for the values of these people, 8 bytes each.

        Refused are too few people in common, a public table that is another one or of other people, and
        outcomes that plainly are not standardised; all of these depend on private data.
        """
        self._path, self._is_private, self._checks = path, is_release and not is_reference, checks
        self._require_published(public_digest)
        self.names, self.prevalence, constants = outcome_names(path)[:count], None, None
        self.population_prevalence = None
        if scales is not None:
            constants = constants_of(self.names, read_scales(scales), path=scales)
            self.prevalence = constants["centre"].where(constants["is_binary"]).to_numpy()
            self.population_prevalence = constants["population_prevalence"].to_numpy()
        self._place = pd.Series(np.arange(len(sample_id)), index=pd.Index(sample_id, dtype=str))
        self._is_there = np.zeros(len(sample_id), dtype=bool)
        with tempfile.TemporaryFile(dir=folder) as file:
            # A full disk is an error here, and not a signal in the middle.
            os.posix_fallocate(file.fileno(), 0, max(8 * len(sample_id) * len(self.names), 1))
            self._values = np.memmap(file, np.float64, "w+", shape=(len(sample_id), len(self.names)))
        people_counts, scale, has_others = PeopleCount("outcome", sample_id), OutcomeScale(), False
        for chunk in outcome_chunks(path, columns=slice(count)):
            chunk_values = people_counts.add(
                chunk if constants is None else self._standardised(chunk, constants)
            )
            scale.add(chunk_values)
            has_others |= len(chunk_values) < len(chunk)
            row_indices = self._place[chunk_values.index].to_numpy()
            self._values[row_indices], self._is_there[row_indices] = chunk_values.to_numpy(), True
        if public_digest is not None and (has_others or not self._is_there.all()):
            raise DpgrsError(
                "outcomes-of-other-people",
                f"`outcomes.file`, `{path}`, must be of the people of the panel and no others under feature "
                "protection, got others. Take the genotypes of the same people.",
            )
        limits = {"least_share": least_share, "checks": checks}
        limits |= {"is_release": is_release, "is_reference": is_reference}
        require_enough(people_counts, path=path, output=counts, **limits)
        if TableCheck.SCALE not in checks:
            return
        scales_by_name = scale.describe()
        key = "outcomes.columns" if is_of_arrays(path) else "outcomes.file"
        if not is_release and (lines := raw_problems(scales_by_name, key=key)):
            raise DpgrsError("values-off-scale", "\n".join(lines))
        if scales_by_name["is_raw"].any():
            raise DpgrsError(
                "outcomes-not-standardised",
                "`outcomes.file` and `evaluation.outcomes` must hold outcomes of mean 0 and standard "
                f"deviation 1, got others in `{path}`. Give the public constants that standardise them, "
                f"`outcomes.scales`. {TELL_NOBODY}",
            )

    def of_people(self, people: slice) -> np.ndarray:
        """Return (n_outcomes, n_people) float64 of a slice of the people, NaN where missing."""
        values = np.where(self._is_there[people, np.newaxis], self._values[people], np.nan)
        return np.ascontiguousarray(values.T)

    def _require_published(self, digest: str | None) -> None:
        """Refuse other outcomes than the public ones; a digest of None says that none are public."""
        if digest is not None and file_digest(self._path) != digest:
            raise DpgrsError(
                "outcomes-not-published",
                f"`outcomes.file`, `{self._path}`, must be the file of `public.outcomes.sha256`, got "
                "another. Restore the published one.",
            )

    def _standardised(self, chunk: pd.DataFrame, constants: pd.DataFrame) -> pd.DataFrame:
        try:
            return standardise(chunk, constants, requires_binary=TableCheck.BINARY in self._checks)
        except DpgrsError as error:
            raise DpgrsError(
                error.code, f"{error} {TELL_NOBODY}" if self._is_private else str(error)
            ) from None
