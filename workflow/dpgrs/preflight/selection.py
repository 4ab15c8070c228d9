"""Problems of screening: settings that leave no variants to choose from, or no budget to fit with."""

from typing import TYPE_CHECKING

from dpgrs.methods.registry import METHODS, n_counts
from dpgrs.preflight.rules import When, rules
from dpgrs.privacy.accounting.accountant import SMALLEST_EPSILON
from dpgrs.selection.registry import SELECTORS
from dpgrs.statement.methods import Method
from dpgrs.types import Composition, Selection

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

COMPOSED = When(
    lambda inspection: any(SELECTORS[row.selector].is_composed for row in _screened(inspection).values()),
    ("methods",),
)
# The values that a ledger can count.
OF_RELEASE = rules(
    {
        "`screening.law` must be permute-and-flip in a release, got {got}. Gumbel noise is not drawn "
        "exactly.": (Selection.PERMUTE_AND_FLIP, COMPOSED),
        "`screening.composition` must be basic in a release, got {got}. A ledger adds up the epsilons of "
        "choices.": (Composition.BASIC, COMPOSED),
    }
)
EPSILON_KEYS = ("privacy.epsilon", "privacy.outcome_budget", "outcomes.count")


def choice_problems(inspection: "Inspection") -> list[str]:
    """Refuse to choose as many variants as there are."""
    size, smallest_size = inspection["screening.size"], min(inspection["variants.size"])
    if not _screened(inspection) or size < smallest_size:
        return []
    return [
        f"`screening.size` must be below {smallest_size}, the smallest `variants.size`, got {size}. "
        "Choose fewer, or leave out the methods that choose."
    ]


def column_problems(inspection: "Inspection") -> list[str]:
    """Refuse to choose more variants than a method takes."""
    size = inspection["screening.size"]
    return [
        f"`screening.size` must be below {method.most_columns} for `methods: {name}`, got {size}. Lower it."
        for name, method in _screened(inspection).items()
        # The intercept counts as a variant.
        if method.most_columns and size >= method.most_columns
    ]


def share_problems(inspection: "Inspection") -> list[str]:
    """Refuse choices and counts that take the whole budget."""
    share, count_share = inspection["screening.share"], inspection["screening.count_share"]
    for name, method in _screened(inspection).items():
        if n_counts(method) and share + n_counts(method) * count_share >= 1:
            times = "twice " if n_counts(method) > 1 else ""
            return [
                f"`screening.share` and {times}`screening.count_share` must be below 1 together for "
                f"`methods: {name}`, got {share:g} and {count_share:g}. Lower one."
            ]
    return []


def epsilon_problems(inspection: "Inspection") -> list[str]:
    """Refuse an epsilon of which the choices leave less than the accounting is accurate for."""
    privacy, smallest = inspection.config.privacy, min(inspection["privacy.epsilon"])
    is_joint, counts = privacy.outcome_budget == "joint", inspection["outcomes.count"] or [1]
    for name, method in _screened(inspection).items():
        if method.is_non_private or not method.has_normal_noise:
            continue
        spent = inspection["screening.share"] + n_counts(method) * inspection["screening.count_share"]
        # Methods that read rows draw for each outcome by itself.
        remaining = (1 - spent) * smallest / (max(counts) if method.reads_rows and is_joint else 1)
        if remaining < SMALLEST_EPSILON:
            return [
                f"`privacy.epsilon` must leave {name} at least {SMALLEST_EPSILON:g} for each fit, got "
                f"{smallest:g}, which leaves {remaining:.3g}. Raise it, or lower `screening.share`."
            ]
    return []


def _screened(inspection: "Inspection") -> dict[str, Method]:
    """Return the methods that choose variants, a dict of name to row."""
    return {name: METHODS[name] for name in inspection["methods"] if METHODS[name].is_screened}
