"""SubLasso and two-stage: a Lasso on every group of rows votes, and the votes are peeled [1]_ [2]_.

Every unit belongs to one of m groups by a public hash of its own key, so what one unit changes are the votes
of its group. Votes are integers and the choice among them is exact: a release can draw it. The proof, and why
the groups need not be secret, is in docs/proofs/votes.md; what differs from the papers in
docs/explanation/screening.md.

References
----------
.. [1] Kifer, Smith, Thakurta (2012). Private convex empirical risk minimization and high-dimensional
   regression. COLT. The groups of `two-stage` are those of Swope et al. (2024), Feature selection from
   differentially private correlations, AISec.
.. [2] Dick, Gillenwater, Joseph (2023). Better private linear regression through better private feature
   selection. NeurIPS.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.privacy.sensitivity import Sensitivity, rows_per_unit
from dpgrs.public_random import uniforms
from dpgrs.types import Neighbours, Protection, Rows, Selection, Unit
from dpgrs_papers.selection.lasso import STANDARD, LassoTerms, check_lasso, lasso_coefficients
from dpgrs_papers.selection.peel import private_peel
from dpgrs_papers.selection.sensitivity import votes_sensitivity
from dpgrs_papers.selection.top_k import top_k

if TYPE_CHECKING:
    from dpgrs.privacy.accounting.events import ChoiceEvent
    from dpgrs.privacy.noise.base import NoiseSource

COUNT_LAW = "tukey/1"
# Above, memory is wasted on a failed count.
LARGEST_NUMBER = 2**20


class GroupRule(StrEnum):
    """How many groups n rows make."""

    SUBLASSO = "sublasso"  # floor(n/k): about k rows each (DPKendall paper)
    TWO_STAGE = "two-stage"  # floor(sqrt(n)) (DP-SIS paper)


class Ballot(StrEnum):
    """What a group votes for."""

    LARGEST = "largest"  # the k features of its largest absolute coefficients
    SUPPORT = "support"  # every feature that its Lasso keeps (Kifer 2012, and the DP-SIS paper)


@dataclass(frozen=True, kw_only=True)
class VotesRequest:
    """The public terms of a choice for one outcome, by groups of units with names."""

    n_choices: int
    epsilon: float  # of all choices together
    rule: GroupRule
    count_epsilon: float = 0.0  # of the number of units; 0 if none is drawn
    n_low: float | None = None  # number of units that was released before
    rows: Rows = Rows.PEOPLE
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: Unit = Unit.PERSON
    protection: Protection = Protection.FULL
    lasso: LassoTerms = STANDARD  # of every group
    law: Selection = Selection.PERMUTE_AND_FLIP

    @property
    def has_private_count(self) -> bool:
        """Whether the number of units is to be drawn."""
        return self.n_low is None and Neighbours(self.neighbours) == Neighbours.ADD_REMOVE

    @property
    def rows_per_unit(self) -> int:
        """How many rows one unit owns, one after the other."""
        return rows_per_unit(self.rows, self.unit)

    def sensitivity(self, norm: str) -> Sensitivity:
        """Return the claim of the number of units: 1."""
        return Sensitivity(1.0, norm, Neighbours(self.neighbours), Unit(self.unit), COUNT_LAW)


def private_sublasso(
    X: np.ndarray,
    y: np.ndarray,
    *,
    k: int,
    epsilon: float,
    n_low: float,
    rule: GroupRule,
    seed: int,
    noise: "NoiseSource",
    unit_keys: Sequence[str] | None = None,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    unit: Unit = Unit.PERSON,
    protection: Protection = Protection.FULL,
    rows_per_unit: int = 1,
    lasso: LassoTerms = STANDARD,
    law: Selection = Selection.PERMUTE_AND_FLIP,
) -> "tuple[np.ndarray, ChoiceEvent]":
    """Choose k features by the votes of a Lasso on every group of rows.

    Parameters
    ----------
    X : (n_rows, d), without an intercept column; rows of a unit one after the other.
    y : (n_rows,). A row with a value that is not finite takes no part.
    k : int in [1, d]
    epsilon : float > 0, of all choices together.
    n_low : float, number of units, public or released before; may be negative. Never the private one. Where
        it was released with noise in the same request, `noise` must be that of `on` all of X, y and the keys.
    rule : GroupRule
    seed : int, public, of the hash.
    noise : NoiseSource
    unit_keys : sequence of n_units str, such as sample names: each belongs to its unit, however
        many others there are. None takes places in the order of rows, only for replace-one: units
        must keep their places.
    neighbours : Neighbours
    unit : Unit
    protection : Protection
    rows_per_unit : int > 0, rows in a row that belong to one unit: 2 for the haplotypes of a person.
    lasso : LassoTerms, of every group.
    law : Selection, as in `private_peel`.

    Returns
    -------
    chosen : (k,) int64, different, the first choice first.
    event : ChoiceEvent, or GumbelEvent in a benchmark by that law.

    Privacy
    -------
    Unit and neighbours as told. Sensitivity of a count of votes 1, or 2 under replace-one by keys:
    docs/proofs/votes.md. Event ChoiceEvent. Public: d, `n_low`, the hash and all terms. Not covered:
    relatives, keys that depend on who else is there, how long it takes.

    Raises
    ------
    UsageError
        For terms out of their domain, rows that are not whole units, or no keys under add-remove.
    """
    check_lasso(X, y, k=k)
    sensitivity = votes_sensitivity(
        neighbours=neighbours, unit=unit, protection=protection, is_by_place=unit_keys is None
    )
    n_groups = number_of_groups(n_low, k, rule=rule, rows_per_unit=rows_per_unit)
    vote_options = {
        "k": k,
        "n_groups": n_groups,
        "seed": seed,
        "rows_per_unit": rows_per_unit,
        "lasso": lasso,
    }
    votes = count_votes(X, y, unit_keys, **vote_options)
    name = f"votes of {GroupRule(rule)}"
    options = {"sensitivity": sensitivity, "epsilon": epsilon, "noise": noise, "name": name, "law": law}
    return private_peel(votes, k=k, **options)


def choose_by_votes(
    X: np.ndarray,
    y: np.ndarray,
    *,
    k: int,
    rule: GroupRule,
    seed: int,
    unit_keys: Sequence[str] | None = None,
    rows_per_unit: int = 1,
) -> np.ndarray:
    """Choose the k features of most votes, without privacy: the twin of `private_sublasso`.

    The result is (k,) int64, the most votes first, equal ones by index.
    """
    check_lasso(X, y, k=k)
    n_units = _number_of_units(X, unit_keys, rows_per_unit=rows_per_unit)
    n_groups = number_of_groups(n_units, k, rule=rule, rows_per_unit=rows_per_unit)
    options = {"k": k, "n_groups": n_groups, "seed": seed, "rows_per_unit": rows_per_unit}
    return top_k(count_votes(X, y, unit_keys, **options), k)


def number_of_groups(n_low: float, k: int, *, rule: GroupRule, rows_per_unit: int = 1) -> int:
    """Return how many groups there are, by public numbers: from 1 to `LARGEST_NUMBER`.

    `n_low` is a number of units, public or released before, which may be negative; the rule is about rows.
    """
    if not math.isfinite(n_low):
        raise UsageError(
            "n-low-not-finite", f"`n_low` must be a finite number of units, got {n_low}. Give a public one."
        )
    if rule not in list(GroupRule):
        raise UsageError(
            "group-rule-unknown", f"`rule` must be one of {', '.join(GroupRule)}, got {rule}. Change it."
        )
    n_units = max(n_low, 0)
    n_rows = n_units * rows_per_unit
    number = n_rows / k if rule == GroupRule.SUBLASSO else math.sqrt(n_rows)
    return min(max(math.floor(min(number, n_units)), 1), LARGEST_NUMBER)


def assign_groups(unit_keys: Sequence[str], *, n_groups: int, seed: int) -> np.ndarray:
    """Give every unit a group by a public hash of its key: as good as independent and uniform.

    Groups are (n_units,) int64 in [0, n_groups).
    """
    return (uniforms(seed, unit_keys, "groups", n_groups) * n_groups).astype(np.int64)


def count_votes(
    X: np.ndarray,
    y: np.ndarray,
    unit_keys: Sequence[str] | None,
    *,
    k: int,
    n_groups: int,
    seed: int,
    rows_per_unit: int,
    lasso: LassoTerms = STANDARD,
    ballot: Ballot = Ballot.LARGEST,
) -> np.ndarray:
    """Assign units to groups and count the groups' votes, (d,) int64 as in `group_votes`.

    By keys, the order of units does not matter; terms are as in `private_sublasso`.
    """
    n_units = _number_of_units(X, unit_keys, rows_per_unit=rows_per_unit)
    keys = [str(key) for key in (range(n_units) if unit_keys is None else unit_keys)]
    groups, rows = assign_groups(keys, n_groups=n_groups, seed=seed), None
    if unit_keys is not None:
        # The votes of a group depend on who is in it, not on the order of the table.
        order = np.array(sorted(range(n_units), key=keys.__getitem__), dtype=np.int64)
        groups = groups[order]
        rows = (order[:, np.newaxis] * rows_per_unit + np.arange(rows_per_unit)).ravel()
    groups = np.repeat(groups, rows_per_unit)
    return group_votes(X, y, groups, n_groups=n_groups, k=k, lasso=lasso, ballot=ballot, order=rows)


def group_votes(
    X: np.ndarray,
    y: np.ndarray,
    groups: np.ndarray,
    *,
    n_groups: int,
    k: int,
    lasso: LassoTerms = STANDARD,
    ballot: Ballot = Ballot.LARGEST,
    order: np.ndarray | None = None,
) -> np.ndarray:
    """Let every group vote for features by its own Lasso: (d,) int64 in [0, n_groups].

    Each group is fitted by itself: its votes depend only on its rows, to the last bit. A group counts
    features from a start of its own, and equal coefficients in this order: a group that cannot fit a Lasso
    has k fixed votes, spread evenly over the features by all groups.

    X is (n_rows, d), of which the rows of one group are taken at a time, by an array of their indices. Groups
    are (n_rows,) int64, of the rows in `order`; None takes them as they are. By the ballot `LARGEST` there
    are k n_groups votes.
    """
    d = X.shape[1]
    votes = np.zeros(d, dtype=np.int64)
    ends = np.cumsum(np.bincount(groups, minlength=n_groups))
    members = np.split(np.argsort(groups, kind="stable"), ends[:-1])
    for group, indices in enumerate(members):
        rows = indices if order is None else order[indices]
        start = group * d // n_groups
        features = np.roll(np.arange(d), -start)
        size = np.abs(lasso_coefficients(X[rows][:, features], y[rows], **vars(lasso)))
        votes[features[size > 0 if ballot == Ballot.SUPPORT else top_k(size, k)]] += 1
    return votes


def _number_of_units(X: np.ndarray, unit_keys: Sequence[str] | None, *, rows_per_unit: int) -> int:
    """Count the units; the message does not say how many there are."""
    if rows_per_unit < 1:
        raise UsageError(
            "rows-per-unit-not-positive",
            f"`rows_per_unit` must be at least 1, got {rows_per_unit}. Change it.",
        )
    n_units, left_over = divmod(len(X), rows_per_unit)
    if left_over or (unit_keys is not None and len(unit_keys) != n_units):
        raise UsageError(
            "rows-not-of-whole-units",
            f"The rows must be of whole units of {rows_per_unit} with a key each. Pass all rows and keys.",
        )
    return n_units
