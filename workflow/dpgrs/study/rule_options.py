"""Options of a rule as text for a shell."""

import re
import shlex


def flags(**options):
    """Write options as flags of the command line.

    Parameters
    ----------
    **options : values by the names of their flags; a list repeats its flag, True gives the flag alone, None
        and False leave it out.

    Returns
    -------
    str, quoted for a shell. Snakemake finds no wildcard in it: a shell reads ``{''x}`` as ``{x}``.

    Examples
    --------
    >>> flags(size=[10, 20], is_release=True, count=None, table="my table.tsv")
    "--size 10 --size 20 --is-release --table 'my table.tsv'"
    """
    words = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        for item in value if isinstance(value, list | tuple) else [value]:
            if item is True:
                words.append(flag)
            elif item is not None and item is not False:
                words += [flag, re.sub(r"{(?=\s*[.\w])", "{''", shlex.quote(str(item)))]
    return " ".join(words)
