"""The number of people with genotypes who have outcomes and covariates, counted before any noise is drawn.

Exact counts about people: in a release they are for the operator only, on the console and in `private/`.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.errors import shown
from dpgrs.io.files import read_table
from dpgrs.io.tables.phenotypes import FEWEST_OBSERVED
from dpgrs.io.tables.table_samples import share_error
from dpgrs.io.tables.tables import describe_mismatch
from dpgrs.types import TableCheck

COLUMNS = ["kind", "name", "people", "in_table", "ids", "values", "missing"]
# Names that a summary has room for, all of them or those with the fewest values.
FEW, FEWEST = 5, 3
EXAMPLES = 1000
LEAVE_OUT = {
    "outcome": "Take these columns out of the table",
    "covariate": "Leave these columns out by `covariates.columns`",
}


class PeopleCount:
    """Counts the people with genotypes whom a table has, block by block.

    `kind` is ``outcome`` or ``covariate``; `sample_ids` are the people of the study, who have genotypes, and
    `people` the set of them if there is one.
    """

    def __init__(self, kind: str, sample_ids: Sequence[str], people: frozenset[str] | None = None) -> None:
        self.kind = kind
        self._people = frozenset(sample_ids) if people is None else people
        self._sample_ids, self._examples = sample_ids, []
        self._n_ids = self._n_both = 0
        self._values: Any = 0  # a Series by column, from the first block on
        self._n_chosen = None

    def add(self, table: pd.DataFrame) -> pd.DataFrame:
        """Count a block of the table, as from `outcome_chunks`; return its people with genotypes.

        Nobody may be in two blocks.
        """
        self.add_ids(table.index.tolist())
        with_genotypes = self._with_genotypes(table)
        self._values = self._values + with_genotypes.notna().sum()
        return with_genotypes

    def _with_genotypes(self, table: pd.DataFrame) -> pd.DataFrame:
        return table[list(map(self._people.__contains__, table.index.tolist()))]

    def add_ids(self, ids: list[str], *, n_both: int | None = None) -> None:
        """Count people of the table without their values; `n_both` have genotypes, if that is known."""
        self._examples += ids[: EXAMPLES - len(self._examples)]
        self._n_ids += len(ids)
        self._n_both += sum(map(self._people.__contains__, ids)) if n_both is None else n_both

    def add_chosen(self, table: pd.DataFrame) -> pd.DataFrame:
        """Count the values of people chosen at random, after `add_ids`; return those with genotypes."""
        with_genotypes = self._with_genotypes(table)
        self._values, self._n_chosen = with_genotypes.notna().sum(), len(with_genotypes)
        return with_genotypes

    @property
    def is_whole(self) -> bool:
        """Whether the values of all people with genotypes are counted."""
        return self._n_chosen is None or self._n_chosen == self._n_both > 0

    @property
    def table(self) -> pd.DataFrame:
        """A row per column: `COLUMNS`, of which `missing` is the share of people without a value.

        If people were chosen at random, values and missing are of these people.
        """
        n_people = len(self._people)
        counts = {"kind": self.kind, "name": self._values.index, "people": n_people, "in_table": self._n_both}
        counts |= {"ids": self._n_ids, "values": self._values.to_numpy()}
        n_read = n_people if self.is_whole else max(self._n_chosen, 1)
        return pd.DataFrame(counts).assign(missing=lambda rows: 1 - rows["values"] / n_read)[COLUMNS]

    def in_words(self) -> list[str]:
        """Return the counts in words, as `describe_counts` does."""
        who = "" if self.is_whole else f" among {self._n_chosen:,} people chosen"
        return describe_counts(self.table, who=who)

    def problem(
        self,
        least_share: float,
        *,
        shows_ids: bool,
        of: str = "the genotypes",
        allows_others: bool = False,
        checks: Collection[TableCheck] = tuple(TableCheck),
    ) -> str | None:
        """Return the end of a sentence if too few people are in both or have a value of a column, else None.

        The sentence begins with the table's name, has no count, but names all columns of too few people.

        Enough is `least_share` of the people with genotypes and, unless `allows_others`, of the people of the
        table; for each column that share of the people with genotypes, and always `FEWEST_OBSERVED` people.
        Without the checks ``people`` or ``values`` that condition is left out.
        """
        is_checked, n_people = TableCheck.PEOPLE in checks, len(self._people)
        if is_checked and not self._n_both:
            return describe_mismatch(self._examples, self._sample_ids, shows_ids=shows_ids, of=of)
        share = f"{least_share:g} (`outcomes.least_share`)"
        if is_checked and allows_others and self._n_both < least_share * n_people:
            return (
                f"must have at least {share} of the people of {of}, got fewer. Name people alike, add the "
                "missing ones, or lower the share if that is how it is."
            )
        if is_checked and not allows_others and self._n_both < least_share * max(n_people, self._n_ids):
            return (
                f"must share at least {share} of its sample ids, and of the people of {of}, got fewer. "
                "Check that both have the same ids; else take out people who are only in one, or lower "
                "`outcomes.least_share`."
            )
        if TableCheck.VALUES not in checks:
            return None
        most = self._values
        if not self.is_whole and self._n_chosen:
            error = share_error(self._n_chosen, self._n_both)
            most = np.minimum(self._values / self._n_chosen + error, 1) * self._n_both
        is_few = most < max(least_share * n_people, FEWEST_OBSERVED)
        if not is_few.any():
            return None
        few = ", ".join(map(shown, is_few.index[is_few]))
        return (
            f"must have values for at least {share} of the people of {of}, and for {FEWEST_OBSERVED} people "
            f"in any case, in each column that is used, got fewer in {few}. {LEAVE_OUT[self.kind]}, or lower "
            "the share if that is how it is."
        )


def read_counts(path: Path | str) -> pd.DataFrame:
    """Read a table of counts, as `PeopleCount.table` is and `write_table` writes it."""
    return read_table(path, required=COLUMNS, dtype={"kind": str, "name": str}, keep_default_na=False)


def describe_counts(table: pd.DataFrame, *, who: str = "") -> list[str]:
    """Return sentences on who is in the table, and how many have a value of each column, or of some of many.

    The table is `PeopleCount.table`; `who` says whose values were counted, unless it is everybody's.
    """
    first = table.iloc[0]
    n_people, n_both, n_ids = (int(first[name]) for name in ("people", "in_table", "ids"))
    people = (
        f"{n_both:,} of {n_people:,} people with genotypes ({n_both / n_people:.1%}) are in the table of "
        f"{first['kind']}s; {n_both:,} of its {n_ids:,} ids ({n_both / n_ids:.1%}) have genotypes."
    )
    table = table.sort_values("values", kind="stable")
    values = table["values"].tolist()
    named = [
        f"{shown(name)} {n_known:,} ({missing:.1%} missing)"
        for name, n_known, missing in zip(table["name"], values, table["missing"], strict=True)
    ]
    if len(named) <= FEW:
        return [people, f"With a value{who}: {', '.join(named)}."]
    spread = (
        f"With a value of {len(table):,} {first['kind']}s{who}: {values[0]:,} people at least, "
        f"{values[(len(values) - 1) // 2]:,} in the median, {values[-1]:,} at most. Fewest: "
        f"{', '.join(named[:FEWEST])}."
    )
    return [people, spread]
