"""What can go wrong, in one line each: what, where, how to mend it."""

from collections.abc import Sequence
from typing import Any


class DpgrsError(Exception):
    """A failure that the user can understand and mend. The command line ends with `exit_code`.

    `code` names the fault, such as ``ledger-missing``, and stays the same if the words of the message change.
    """

    exit_code = 1

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code

    def __str__(self) -> str:
        return self.args[1]


class UsageError(DpgrsError):
    """Wrong arguments or configuration: nothing was started."""

    exit_code = 2


class CellError(DpgrsError):
    """A cell of a private table that is no number; its message does not quote the cell, but `quoted` does."""

    def __init__(self, location: str, cell: str) -> None:
        super().__init__("cell-not-a-number", f"{location}: must be a finite number or NA. Correct the cell.")
        fix = "Write decimals with a point." if "," in cell else "Correct the cell."
        # For open data.
        self.quoted = f"{location}: must be a finite number or NA, got `{shown(cell)}`. {fix}"


def must(
    key: str,
    domain: str,  # in words, behind "must"
    got: Any,
    fix: str,
) -> str:
    """Word the fault of a setting: "`key` must <domain>, got <got>. <fix>"."""
    return f"`{key}` must {domain}, got {got}. {fix}"


def require_domains(
    record: Any,  # has the fields as attributes
    *domains: tuple[str, str, bool],  # a field's name, its domain in words, and whether it is met
) -> None:
    """Raise a UsageError for the first field of a record out of its domain."""
    for name, domain, is_met in domains:
        if not is_met:
            raise UsageError(
                "field-out-of-domain", f"`{name}` must be {domain}, got {getattr(record, name)}. Change it."
            )


def listed(
    names: Sequence[str],
    *,
    most: int = 20,  # names to write
) -> str:
    """Write names as a message lists them: each in its quotes, and how many more there are."""
    more = [f"{len(names) - most:,} more"] * (len(names) > most)
    return ", ".join([*(f"`{shown(name)}`" for name in names[:most]), *more])


def shown(
    text: str,
    *,
    n_characters: int = 40,  # to keep
) -> str:
    """Return text of a file as a message can hold it: short, on one line, nothing that a terminal obeys."""
    short = text if len(text) <= n_characters else f"{text[:n_characters]}..."
    return short if short.isprintable() else ascii(short)[1:-1]
