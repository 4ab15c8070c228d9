"""Names of statistics that are drawn in rounds: one draw each, and one line for people."""

from collections import Counter

# Between what a statistic is and the number of its round.
_ROUND = ", round "


def of_round(statistic, number):
    """Name a statistic of one round, counted from 1."""
    return f"{statistic}{_ROUND}{number}"


def without_round(statistic):
    """Name what is drawn in rounds; other names stay as they are."""
    return statistic.partition(_ROUND)[0]


def gather_rounds(mechanisms):
    """Put the rounds of a statistic together, for people.

    Parameters
    ----------
    mechanisms : list of dict, the section ``mechanisms`` of a statement.

    Returns
    -------
    list of dict, the same with ``times``, how many draws it stands for. Draws that differ in the number of
    their round alone are one.
    """
    named = (part | {"statistic": without_round(part["statistic"])} for part in mechanisms)
    alike = Counter(tuple(part.items()) for part in named)
    return [dict(part) | {"times": times} for part, times in alike.items()]
