"""What the rules of the workflow tell the command line: settings as options, and options as text."""

import re
import shlex

from dpgrs.methods.registry import METHODS
from dpgrs.study.settings import counts_outcomes
from dpgrs.types import Selector

PRIVACY = (
    "protection",
    "neighbours",
    "unit",
    "accounting",
    "epsilon",
    "delta",
    "gram_share",
    "count_share",
    "outcome_budget",
)


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
        for item in value if isinstance(value, list) else [value]:
            if item is True:
                words.append(flag)
            elif item is not None and item is not False:
                words += [flag, re.sub(r"{(?=\s*[.\w])", "{''", shlex.quote(str(item)))]
    return " ".join(words)


def privacy_options(settings):
    """Return what every request of private statistics says, as options: a dict, here and below."""
    asked = {name: settings["privacy"][name] for name in PRIVACY}
    return asked | {"counts_outcomes": counts_outcomes(settings)}


def screening_options(settings):
    """Return what every request of chosen variants says."""
    screening, privacy = settings["screening"], settings["privacy"]
    votes = any(METHODS[name].selector == Selector.TWO_STAGE for name in settings["methods"])
    return {
        "choices": screening["size"],
        "share": screening["share"],
        "law": screening["law"],
        "composition": screening["composition"],
        # Of methods that vote alone: with others it changes no choice.
        "votes_count_share": screening["count_share"] if votes else None,
        "bounds": privacy["bounds"],
        "genotype_clip": privacy["genotype_clip"],
    }
