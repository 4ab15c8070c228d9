"""Tables as plain text for a terminal: one look for all commands."""

from collections.abc import Sequence

from tabulate import tabulate


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align cells under their headings, two spaces between columns, no spaces at the ends of lines.

    Each row has as many cells as headings, or ValueError is raised. A column with a number in it is aligned
    to the right, others to the left; ``< -1`` and ``2.5 !`` count as numbers.

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


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip("<! "))
    except ValueError:
        return False
    return True
