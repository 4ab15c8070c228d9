"""Outcomes that are simulated from a variant set, some people and some variants at a time."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.evaluation.split import row_names
from dpgrs.genotypes.bits import PEOPLE_OF_WORD
from dpgrs.io.variant_set_parts import people_parts, rows_of_people
from dpgrs.linalg.coding import column_moments
from dpgrs.linalg.statistics import coded_rows, is_fractional
from dpgrs.simulation.outcomes import SimulatedOutcomes

if TYPE_CHECKING:
    from dpgrs.io.variant_set import VariantSet
    from dpgrs.types import Rows

# People whose genetic values are measured together: the last digits of a mean over parts depend on it.
SIMULATED_PEOPLE = 2**12
# Such parts that are read together, if they have so few values: a chunk of genotypes holds no more people.
MOST_PARTS, MOST_VALUES = 16, 2**23
# Genotypes that are read, and coded, at a time: of few people, whose sums over variants stay in the cache.
READ_ENTRIES, CODED_ENTRIES, CODED_PEOPLE = 2**25, 2**18, 2**9


def people_together(n_values: int) -> int:
    """Return how many people are simulated together, by the values of one person, of all rows and sizes."""
    n_parts = MOST_VALUES // (SIMULATED_PEOPLE * max(n_values, 1))
    return SIMULATED_PEOPLE * min(max(n_parts, 1), MOST_PARTS)


class CodedPeople:
    """Genotypes of some people of a variant set in `half` coding, which are read when they are needed.

    The rows of at most `SIMULATED_PEOPLE` people each are `row_parts`, a list of slices.
    """

    def __init__(
        self, variant_set: "VariantSet", columns: np.ndarray, people: slice, *, rows: "Rows"
    ) -> None:
        """Take the variants `columns`, (n_variants,) int64, and a slice of people as in
        `VariantSet.genotypes`."""
        self._variant_set, self._columns, self._people, self._rows = variant_set, columns, people, rows
        self._everybody = slice(0, people.stop - people.start)
        people_slices = people_parts(self._everybody, SIMULATED_PEOPLE)
        self.row_parts = [rows_of_people(people_slice, rows=rows) for people_slice in people_slices]

    def __len__(self) -> int:
        return self.row_parts[-1].stop

    def blocks(self) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield slices of variants and of rows, and their (n_rows, n_block) float64, variants in order."""
        step = max(READ_ENTRIES // max(len(self), 1), 1)
        for first in range(0, len(self._columns), step):
            genotypes = self._variant_set.genotypes(self._columns[first : first + step], self._people)
            for people in people_parts(self._everybody, CODED_PEOPLE):
                rows = rows_of_people(people, rows=self._rows)
                for block, entries in self._coded(genotypes, people, n_rows=rows.stop - rows.start):
                    yield slice(first + block.start, first + block.stop), rows, entries

    def _coded(
        self, genotypes: np.ndarray, people: slice, *, n_rows: int
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of variants of an array and their entries for some of the people."""
        first, last = people.start, people.stop
        if not is_fractional(genotypes):
            first, last = first // PEOPLE_OF_WORD, -(-last // PEOPLE_OF_WORD)
        coding_options = {"n_haplotypes": 2 * (people.stop - people.start), "rows": self._rows}
        step = max(CODED_ENTRIES // max(n_rows, 1), 1)
        for start in range(0, len(genotypes), step):
            block = genotypes[start : start + step, first:last]
            yield slice(start, start + len(block)), coded_rows(block, **coding_options)


class SimulatedRows:
    """Outcomes of all people, simulated for each size of a variant set."""

    def __init__(
        self,
        variant_set: "VariantSet",
        sizes: Sequence[int],
        *,
        rows: "Rows",
        n_outcomes: int,
        width: int | None = None,
        by_frequency: bool = False,
        **simulation: Any,
    ) -> None:
        """Take the sizes of a variant set, and the width, hidden units of networks, and terms of
        `SimulatedOutcomes`.

        Outcomes are scaled by the variant set's frequencies if `by_frequency`, as in a release, in which
        these are public, else by all rows.
        """
        self._variant_set, self._rows = variant_set, rows
        n_values = rows_of_people(slice(0, len(sizes) * n_outcomes * (width or 1)), rows=rows).stop
        self._people = list(people_parts(slice(0, variant_set.n_samples), people_together(n_values)))
        self._columns = {size: variant_set.of_size(size) for size in sizes}
        self._simulated = {}
        for size, columns in self._columns.items():
            variant_inputs = {"variant_rank": variant_set.variant_rank[columns]}
            if by_frequency:
                variant_inputs["public_moments"] = column_moments(variant_set.frequency[columns], rows=rows)
            simulated = SimulatedOutcomes(n_outcomes=n_outcomes, width=width, **variant_inputs, **simulation)
            simulated.measure(
                lambda columns=columns: (self._coded(columns, people) for people in self._people)
            )
            self._simulated[size] = simulated

    @property
    def effects(self) -> dict[int, np.ndarray]:
        """The effects by size, (n_outcomes, n_variants) float64, as those of `SimulatedOutcomes`."""
        return {size: simulated.effects for size, simulated in self._simulated.items()}

    def outcome_blocks(self) -> Iterator[dict[int, np.ndarray]]:
        """Yield, for some people after the others, (n_outcomes, n_rows) float64 by size."""
        for people in self._people:
            row_id = row_names(self._variant_set.sample_id[people], rows=self._rows)
            yield {
                size: simulated.of_rows(self._coded(self._columns[size], people), row_id=row_id)
                for size, simulated in self._simulated.items()
            }

    def _coded(self, columns: np.ndarray, people: slice) -> CodedPeople:
        return CodedPeople(self._variant_set, columns, people, rows=self._rows)
