"""Tables as plain text for a terminal: one look for all commands."""

from tabulate import tabulate


def text_table(columns, rows):
    """Align cells under their headings, two spaces between columns.

    Parameters
    ----------
    columns : sequence of str, the headings.
    rows : sequence of sequences of str, as many cells as headings. A column with a number in it is aligned to
        the right, others to the left; ``< -1`` and ``2.5 !`` count as numbers.

    Returns
    -------
    str, a line for the headings and one for each row, without spaces at their ends.

    Raises
    ------
    ValueError
        If a row has more or fewer cells than there are headings.

    Examples
    --------
    >>> print(text_table(["method", "R2"], [["ridge", "0.33"], ["gdp, 1", "< -1"]]))
    method    R2
    ridge   0.33
    gdp, 1  < -1
    """
    is_right = [any(map(_is_number, cells)) for cells in zip(*rows, strict=True)] or [False] * len(columns)
    alignment = ["right" if right else "left" for right in is_right]
    return tabulate(
        [columns, *rows],
        tablefmt="plain",
        colalign=alignment,
        disable_numparse=True,
        preserve_whitespace=True,
    )


def _is_number(cell):
    try:
        float(cell.strip("<! "))
    except ValueError:
        return False
    return True
