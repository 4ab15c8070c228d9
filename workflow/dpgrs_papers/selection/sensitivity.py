"""How far one unit can move votes, and the scores of DP-SIS: proven bounds."""

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.exact_numbers import root_above
from dpgrs.privacy.sensitivity import Sensitivity, check_protection, positive, rows_per_unit
from dpgrs.types import Neighbours, Protection, Unit


def votes_sensitivity(*, neighbours, unit, protection=Protection.FULL, is_by_place=False):
    """Bound the votes that groups of units cast, each group one set of features: of every feature.

    1, but 2 where one unit replaces another in a group of its own: under replace-one by keys.

    Parameters
    ----------
    neighbours : Neighbours
    unit : Unit, all rows of which are in one group.
    protection : Protection. Under feature and label protection a unit keeps its key.
    is_by_place : bool, whether a unit's group belongs to its place among the rows and not to its key.

    Returns
    -------
    Sensitivity, in ``linf``: of every count.

    Raises
    ------
    UsageError
        By place under add-remove, where who leaves moves all who follow; under add-remove with feature or
        label protection, or if the protection is none.
    """
    check_protection(protection, neighbours)
    is_replaced = Neighbours(neighbours) == Neighbours.REPLACE_ONE
    if is_by_place and not is_replaced:
        raise UsageError(
            f"`unit_keys` must be the units' own names under {Neighbours.ADD_REMOVE}, got none. "
            "Without names, whoever leaves moves all who follow to other groups."
        )
    is_in_two = is_replaced and not is_by_place and Protection(protection) == Protection.FULL
    value = 2.0 if is_in_two else 1.0
    return Sensitivity(value, "linf", Neighbours(neighbours), Unit(unit), "votes/1")


def sis_sensitivity(*, rows, neighbours, unit, entry_bound, outcome_bound, protection=Protection.FULL):
    """Bound the scores |x_j'y| of DP-SIS: b B under add-remove, 2 b B under replace-one.

    Parameters
    ----------
    rows, neighbours, unit : as in `gram_sensitivity`.
    entry_bound, outcome_bound : float > 0, public bounds b and B on the absolute values of x and y.
    protection : Protection

    Returns
    -------
    Sensitivity, in ``linf``: of every score.

    Raises
    ------
    UsageError
        Under add-remove with feature or label protection, or if the protection is none.
    """
    check_protection(protection, neighbours)
    moved = positive("entry_bound", entry_bound) * positive("outcome_bound", outcome_bound)
    moved *= 2 if Neighbours(neighbours) == Neighbours.REPLACE_ONE else 1
    value = root_above((rows_per_unit(rows, unit) * moved) ** 2)
    return Sensitivity(value, "linf", Neighbours(neighbours), Unit(unit), "sis/1")
