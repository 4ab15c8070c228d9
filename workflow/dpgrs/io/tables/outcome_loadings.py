"""The public table of the loadings of outcomes on components, as of a factor analysis of another cohort."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.tables.tables import find_column, header_of, numbers_of, plain_name, rows_of

# Outcomes have variance 1, of which loadings that were printed may carry a little more by rounding.
LARGEST_SHARE = 1.05
# A component's largest loading is at least this: a millionth of a millionth of an outcome's variance is next
# to nothing, and squares of far smaller ones are no numbers of full precision any more.
LEAST_LOADING = 1e-6


@dataclass(frozen=True)
class OutcomeLoadings:
    """Loadings of standardised outcomes on components of variance 1."""

    outcomes: tuple[str, ...]
    components: tuple[str, ...]
    values: np.ndarray  # (n_outcomes, n_components) float64
    origin: str  # where they come from
    path: str

    @property
    def text(self) -> str:
        """The table without origins, as bundles hold it: every number as Python gives it back exactly."""
        lines = zip(self.outcomes, self.values.tolist(), strict=True)
        cells = [["outcome", *self.components], *([name, *map(repr, loadings)] for name, loadings in lines)]
        return "".join("\t".join(line) + "\n" for line in cells)

    @property
    def digest(self) -> str:
        """The SHA-256 of `text` in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def of(self, names: Sequence[str]) -> np.ndarray:
        """Return the (n_outcomes, n_components) loadings of the outcomes of a study, in their order.

        A study with other outcomes is refused.
        """
        unmatched = sorted(set(names) ^ set(self.outcomes))
        if unmatched:
            side = "the study alone" if unmatched[0] in names else "the table alone"
            raise DpgrsError(
                "loadings-of-other-outcomes",
                f"`{self.path}` must have a line for each outcome of the study and no other, got "
                f"`{unmatched[0]}` in {side}. Add or remove lines, or outcomes.",
            )
        return self.values[[self.outcomes.index(name) for name in names]]


def carried_shares(values: np.ndarray) -> np.ndarray:
    """Return the share of each outcome's variance that components carry, (n_outcomes,) float64 in [0, 1]."""
    return np.minimum((values**2).sum(axis=1), 1.0)


def read_outcome_loadings(path: Path | str) -> OutcomeLoadings:
    """Read public loadings of outcomes from a table with a line an outcome.

    Its columns are `outcome`, the name; `origin`, where the loadings come from, in one line at least; and one
    of numbers for each component. Refused are an outcome of which components carry more than all, a component
    without a loading of `LEAST_LOADING`, and components that are not linearly independent.
    """
    rows = rows_of(path)
    header = header_of(rows, path)
    plain = [plain_name(name) for name in header]
    texts = [find_column(plain, {name}) for name in ("outcome", "origin")]
    components = {name: column for column, name in enumerate(header) if column not in texts}
    if None in texts or not components:
        raise DpgrsError(
            "outcome-loading-columns",
            f"`{path}`, line 1: the columns `outcome`, `origin` and one for each component must be there. "
            "Name them in the first line.",
        )
    lines, origins, rows_of_loadings = {}, [], []
    for line, cells in rows:
        name, origin = (cells[column] for column in texts)
        numbers = [cells[column] for column in components.values()]
        loadings = numbers_of(numbers, list(components), path, line)
        if not name or name in lines or np.isnan(loadings).any():
            raise DpgrsError(
                "outcome-loading-line",
                f"`{path}`, line {line}: must name an outcome that no other line names, and have a number "
                "for each component. Correct it.",
            )
        if (share := (loadings**2).sum()) > LARGEST_SHARE:
            raise DpgrsError(
                "loadings-above-one",
                f"`{path}`, line {line}: the squares of the loadings must add up to at most 1, the variance "
                f"of a standardised outcome, got {share:.4g}. Standardise them.",
            )
        lines[name] = line
        origins.append(origin)
        rows_of_loadings.append(loadings)
    origin, values = "; ".join(dict.fromkeys(filter(None, origins))), np.array(rows_of_loadings)
    if not origin:
        raise DpgrsError(
            "loadings-without-origin",
            f"`{path}` must say in the column `origin` where it comes from, got none. Say so.",
        )
    if len(lines) < len(components) or np.linalg.matrix_rank(values) < len(components):
        raise DpgrsError(
            "components-dependent",
            f"`{path}` must have linearly independent components, at most one an outcome, got "
            f"{len(components)} of {len(lines)} outcomes. Leave some out.",
        )
    largest = np.abs(values).max(axis=0)
    weakest = largest.argmin()
    if largest[weakest] < LEAST_LOADING:
        raise DpgrsError(
            "component-too-weak",
            f"`{path}`, column `{[*components][weakest]}`: must have a loading of {LEAST_LOADING:g} or more "
            f"in size, got {largest[weakest]:g} as the largest. Leave the component out.",
        )
    return OutcomeLoadings(tuple(lines), tuple(components), values, origin, str(path))
