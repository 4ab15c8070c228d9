"""What can go wrong, in one line each: what, where, how to mend it."""


class DpgrsError(Exception):
    """A failure that the user can understand and mend. The command line ends with `exit_code`."""

    exit_code = 1


class UsageError(DpgrsError):
    """Wrong arguments or configuration: nothing was started."""

    exit_code = 2


class CellError(DpgrsError):
    """A cell of a private table that is no number: its message quotes the cell only where that is asked for.

    Attributes
    ----------
    quoted : str, the message with the cell, for open data.
    """

    def __init__(self, place, cell):
        super().__init__(f"{place}: must be a finite number or NA. Correct the cell.")
        fix = "Write decimals with a point." if "," in cell else "Correct the cell."
        self.quoted = f"{place}: must be a finite number or NA, got `{shown(cell)}`. {fix}"


def must(key, wanted, got, fix):
    """Word what is wrong with a setting: "`key` must <wanted>, got <got>. <fix>"."""
    return f"`{key}` must {wanted}, got {got}. {fix}"


def require_domains(terms, *domains):
    """Raise a UsageError for the first field of some terms out of its domain.

    Parameters
    ----------
    terms : object with the fields.
    *domains : tuples of a field's name, its domain in words, and whether it is met.
    """
    for name, domain, is_met in domains:
        if not is_met:
            raise UsageError(f"`{name}` must be {domain}, got {getattr(terms, name)}. Change it.")


def listed(names, *, most=20):
    """Write names as a message lists them: each in its quotes, and how many more there are.

    Parameters
    ----------
    names : list of str
    most : int, those to write.
    """
    more = [f"{len(names) - most:,} more"] * (len(names) > most)
    return ", ".join([*(f"`{shown(name)}`" for name in names[:most]), *more])


def shown(text, *, n_characters=40):
    """Return text of a file as a message can hold it: short, on one line, nothing that a terminal obeys.

    Parameters
    ----------
    text : str
    n_characters : int, those to keep.
    """
    short = text if len(text) <= n_characters else f"{text[:n_characters]}..."
    return short if short.isprintable() else ascii(short)[1:-1]
