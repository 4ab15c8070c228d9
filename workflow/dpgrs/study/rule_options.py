"""Options of a rule as text for a shell."""

import re
import shlex
from typing import Any


def flags(**options: Any) -> str:
    """Write options as flags of the command line, quoted for a shell.

    A list repeats its flag, True gives only the flag, None and False leave it out. Snakemake finds no
    wildcard in the text: a shell reads ``{''x}`` as ``{x}``.

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
