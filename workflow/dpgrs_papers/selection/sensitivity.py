"""How far one unit can move votes, and the scores of DP-SIS: proven bounds."""

from typing import TYPE_CHECKING

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.exact_numbers import root_above
from dpgrs.privacy.sensitivity import Sensitivity, check_protection, positive, rows_per_unit
from dpgrs.types import Neighbours, Protection, Unit

if TYPE_CHECKING:
    from dpgrs.types import Rows


def votes_sensitivity(
    *, neighbours: Neighbours, unit: Unit, protection: Protection = Protection.FULL, is_by_place: bool = False
) -> Sensitivity:
    """Bound the votes that groups of units cast, each group one set of features: of every feature, in linf.

    The bound is 1, but 2 if one unit replaces another in a group of its own: under replace-one by keys. All
    rows of a unit are in one group; under feature and label protection a unit keeps its key. By place, a
    unit's group belongs to its place among the rows and not to its key: under add-remove this is refused, as
    who leaves moves all who follow.
    """
    check_protection(protection, neighbours)
    is_replaced = Neighbours(neighbours) == Neighbours.REPLACE_ONE
    if is_by_place and not is_replaced:
        raise UsageError(
            "unit-keys-missing",
            f"`unit_keys` must be the units' own names under {Neighbours.ADD_REMOVE}, got none. "
            "Without names, whoever leaves moves all who follow to other groups.",
        )
    is_in_two = is_replaced and not is_by_place and Protection(protection) == Protection.FULL
    bound = 2.0 if is_in_two else 1.0
    return Sensitivity(bound, "linf", Neighbours(neighbours), Unit(unit), "votes/1")


def sis_sensitivity(
    *,
    rows: "Rows | str",
    neighbours: Neighbours,
    unit: Unit,
    entry_bound: float,
    outcome_bound: float,
    protection: Protection = Protection.FULL,
) -> Sensitivity:
    """Bound the scores |x_j'y| of DP-SIS: b B under add-remove, 2 b B under replace-one, in linf.

    b and B are public bounds on the absolute values of x and y.
    """
    check_protection(protection, neighbours)
    moved = positive("entry_bound", entry_bound) * positive("outcome_bound", outcome_bound)
    moved *= 2 if Neighbours(neighbours) == Neighbours.REPLACE_ONE else 1
    bound = root_above((rows_per_unit(rows, unit) * moved) ** 2)
    return Sensitivity(bound, "linf", Neighbours(neighbours), Unit(unit), "sis/1")
