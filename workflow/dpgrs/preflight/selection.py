"""What keeps a study from screening: settings that leave nothing to choose from, or nothing to fit with."""

from dpgrs.methods.registry import METHODS
from dpgrs.privacy.accounting.accountant import SMALLEST_EPSILON
from dpgrs.selection.registry import SELECTORS
from dpgrs.types import Composition, Scaling, Selection

# What is judged here, beside the methods.
SCREENING_KEYS = (
    "panel.size",
    "outcomes.count",
    "privacy.epsilon",
    "privacy.outcome_budget",
    "screening.size",
    "screening.share",
    "screening.count_share",
    "screening.law",
    "screening.composition",
    "screening.scaling",
    "mode",
)


def screening_problems(config):
    """List the problems of methods that choose variants.

    Parameters
    ----------
    config : dict from `dpgrs.study.settings.resolve`.

    Returns
    -------
    list of str, one line a problem.
    """
    screening, methods = config["screening"], config["methods"]
    lines = _scaling_problems(config)
    if not any(METHODS[name].is_screened for name in methods):
        return lines
    size, smallest_panel = screening["size"], min(config["panel"]["size"])
    if size >= smallest_panel:
        lines.append(
            f"`screening.size` must be below {smallest_panel}, the smallest `panel.size`, got {size}. "
            "Choose fewer, or leave the methods `k-...` and `s-...` out."
        )
    screened = {name: METHODS[name] for name in methods if METHODS[name].is_screened}
    lines += [
        f"`screening.size` must be below {method.most_columns} for `methods: {name}`, got {size}. Lower it."
        for name, method in screened.items()
        # The intercept counts as a variant.
        if method.most_columns and size >= method.most_columns
    ]
    share, count_share = screening["share"], screening["count_share"]
    counts = [name for name, method in screened.items() if method.counts_units]
    if counts and share + count_share >= 1:
        lines.append(
            "`screening.share` and `screening.count_share` must be below 1 together for `methods: "
            f"{counts[0]}`, got {share:g} and {count_share:g}. Lower one."
        )
    if config["mode"] == "release" and any(
        SELECTORS[method.selector].is_composed for method in screened.values()
    ):
        lines += _release_problems(screening)
    return lines + _epsilon_problems(config)


def _scaling_problems(config):
    """Refuse a release of what is not private, whatever it would be used by."""
    scaling = config["screening"]["scaling"]
    if (config["mode"], scaling) == ("release", Scaling.PAPER):
        return [
            f"`screening.scaling` must be {Scaling.PUBLIC} in a release, got {scaling}. The data's own "
            "mean and maximum are not private: leave it out."
        ]
    return []


def _release_problems(screening):
    """Refuse laws and compositions of DPKendall that no ledger counts."""
    return [
        f"`screening.{key}` must be {wanted} in a release, got {screening[key]}. {why}"
        for key, wanted, why in (
            ("law", Selection.PERMUTE_AND_FLIP, "Gumbel noise is not drawn exactly."),
            ("composition", Composition.BASIC, "A ledger adds up the epsilons of choices."),
        )
        if screening[key] != wanted
    ]


def _epsilon_problems(config):
    """Refuse an epsilon of which the choices leave less than the accounting is accurate for."""
    privacy, smallest = config["privacy"], min(config["privacy"]["epsilon"])
    is_joint, counts = privacy["outcome_budget"] == "joint", config["outcomes"]["count"] or [1]
    share, count_share = config["screening"]["share"], config["screening"]["count_share"]
    for name in config["methods"]:
        method = METHODS[name]
        if not method.is_screened or method.is_non_private or not method.has_normal_noise:
            continue
        spent = share + (count_share if method.counts_units else 0)
        # What reads rows is drawn for each outcome by itself.
        left = (1 - spent) * smallest / (max(counts) if method.reads_rows and is_joint else 1)
        if left < SMALLEST_EPSILON:
            return [
                f"`privacy.epsilon` must leave {name} at least {SMALLEST_EPSILON:g} for each fit, got "
                f"{smallest:g}, which leaves {left:.3g}. Raise it, or lower `screening.share`."
            ]
    return []
