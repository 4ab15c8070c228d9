"""Problems of a release's ledger and key: names, budgets, costs that the ledger is certain to refuse."""

from fractions import Fraction
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.replicates import summed_outcomes
from dpgrs.preflight.rules import GIVEN, rules
from dpgrs.privacy.ledger.caps import LARGEST_EPSILON, delta_problem, exceeds_cap, person_in_words
from dpgrs.privacy.ledger.ledger import Book, refusals
from dpgrs.privacy.noise.study_key import load_study_key
from dpgrs.release.bundle_problems import bundle_problems
from dpgrs.study.release_cost import account_of, certain_cost, total_epsilon, whole_cost
from dpgrs.study.table_settings import drawn_counts
from dpgrs.types import Metrics

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.preflight.inspection import Inspection

ACCOUNT = ("cohort.part", "privacy.ledger", "privacy.protection", "privacy.unit", "privacy.neighbours")
PRICED = (
    *("methods", "variants.size", "cohort.rows", "cohort.part", "cohort.sums"),
    *("outcomes", "covariates", "privacy", "screening", "evaluation"),
)
EXAMPLES = {"accession": "phs000001", "consent": "c1", "version": "2026-11-01"}
NAMES = rules(
    {
        f"`dataset.{name}` must be given for a release, got null. For example `{name}: {value}`.": (GIVEN,)
        for name, value in EXAMPLES.items()
    }
)


def ledger_problems(inspection: "Inspection") -> list[str]:
    """Ask for a ledger that can be read."""
    key, path = "privacy.ledger", inspection["privacy.ledger"]
    if inspection["cohort.part"]:
        return []  # nothing is charged
    if path is None:
        return [must(key, "name the dataset's ledger", "null", "See `dpgrs ledger init --help`.")]
    try:
        inspection.book(path)
    except DpgrsError as error:
        return [f"`{key}`: {error}"]
    return []


def name_problems(inspection: "Inspection", key: str) -> list[str]:
    """Compare the name of the dataset with its ledger."""
    book, name = _book(inspection), key.partition(".")[2]
    if not (book and inspection[key]) or inspection[key] == getattr(book, name):
        return []
    domain = f"be {getattr(book, name)} as in {inspection['privacy.ledger']}"
    return [must(key, domain, inspection[key], "Name the ledger of the dataset that is used.")]


def budget_problems(inspection: "Inspection") -> list[str]:
    """Refuse to spend more than the study's own budget."""
    budget, evaluation = inspection["privacy.budget"], inspection.config.evaluation
    is_priced = evaluation.metrics != Metrics.CHARGED or evaluation.epsilon is not None
    is_known = _has_account(inspection) and _is_counted(inspection)
    if budget is None or not (is_priced and is_known):
        return []
    total = total_epsilon(_counted(inspection))
    if total <= budget:
        return []
    domain = f"be at least {total:.4g}, what this study spends"
    return [must("privacy.budget", domain, f"{budget:g}", "Raise it, or ask for less.")]


def delta_problems(inspection: "Inspection") -> list[str]:
    """Refuse a delta that allows to publish the record of somebody, by the ledger's bound on the people."""
    book = _book(inspection)
    problem = delta_problem(Fraction(repr(inspection["privacy.delta"])), book and book.people_at_most)
    return [must("privacy.delta", *problem, "Lower it.")] if problem else []


def cap_problems(inspection: "Inspection") -> list[str]:
    """Refuse a release of which all parts together cost a person more than the cap, unless a reason is given.

    A release that the ledger holds already is refused, too: what it costs does not depend on its replay.
    """
    privacy, reason = inspection.config.privacy, inspection["privacy.beyond_20"]
    if inspection["cohort.part"] or not _is_counted(inspection):
        return []
    try:
        account, cost = account_of(privacy), whole_cost(_counted(inspection))
    except DpgrsError:
        return []  # other checks judge neighbours and bounds
    delta = Fraction(repr(privacy.delta))
    is_beyond, got = exceeds_cap(account.cost_to_person(cost), delta), person_in_words(account, cost, delta)
    if is_beyond == (reason is not None):
        return []
    if not is_beyond:
        bound = f"be null for a release that costs a person at most epsilon {LARGEST_EPSILON}"
        return [must("privacy.beyond_20", bound, f"a reason with epsilon {got}", "Leave it out.")]
    fixes = ["Lower it"]
    if inspection["evaluation.metrics"] == Metrics.CHARGED:
        fixes.append("lower `evaluation.epsilon`")
    if privacy.outcome_budget == "separate":
        fixes.append("ask for fewer outcomes, or a joint budget")
    fix = f"{', '.join(fixes)}, or give the reason for more in `privacy.beyond_20`, which the bundle prints."
    bound = f"cost a person at most epsilon {LARGEST_EPSILON} in the whole release"
    return [must("privacy.epsilon", bound, got, fix)]


def account_problems(inspection: "Inspection") -> list[str]:
    """Find that a ledger lacks the study's account."""
    if not _has_account(inspection):
        return []
    budgets, account = _book(inspection).budgets, account_of(inspection.config.privacy)
    if account in budgets:
        return []
    opened = ", ".join(map(str, budgets)) or "none"
    fix = "Open it with `dpgrs ledger add-account`, or change `privacy`."
    return [must("privacy.ledger", f"have an account {account}", opened, fix)]


def cost_problems(inspection: "Inspection") -> list[str]:
    """Refuse a release that its ledger is certain to refuse, before hours of computing, or without room."""
    config, path = inspection.config, inspection["privacy.ledger"]
    if inspection["cohort.part"] or not _is_counted(inspection):
        return []
    try:
        book = inspection.book(path)
        lines = refusals(book, certain_cost(_counted(inspection), book), account_of(config.privacy))
    except DpgrsError:
        lines = []  # of outcomes or protection, which other checks judge
    return [
        f"`privacy.ledger`, {path}: {line} Ask for less, as by a lower `privacy.epsilon`." for line in lines
    ] or bundle_problems(config)


def key_problems(inspection: "Inspection") -> list[str]:
    """Ask for the study key."""
    if inspection["cohort.part"]:
        return []
    try:
        load_study_key()
    except DpgrsError as error:
        return [str(error)]
    return []


def n_outcomes_of(inspection: "Inspection") -> int | None:
    """Count the outcomes; None where no table of them can be read, which other checks report."""
    count, path = inspection["outcomes.count"], inspection["outcomes.file"]
    if count:
        return max(count)
    try:
        if inspection["cohort.sums"] is not None:
            return len(summed_outcomes(inspection["cohort.sums"]))
        return len(inspection.names(path)) if path else None
    except DpgrsError:
        return None


def _is_counted(inspection: "Inspection") -> bool:
    """Tell whether it is known how many outcomes, or components of these, are drawn."""
    if n_outcomes_of(inspection) is None:
        return False
    try:
        drawn_counts(inspection.config.outcomes)
    except DpgrsError:
        return False  # other checks judge the loadings
    return True


def _counted(inspection: "Inspection") -> "StudyConfig":
    """Return the configuration with the number of outcomes, for which no table need be read again."""
    config, count = inspection.config, inspection["outcomes.count"] or [n_outcomes_of(inspection)]
    return config.changed(outcomes={"count": count})


def _has_account(inspection: "Inspection") -> bool:
    """Tell whether there is a ledger, and an account that it could have: other checks judge neighbours."""
    try:
        account_of(inspection.config.privacy)
    except DpgrsError:
        return False
    return _book(inspection) is not None


def _book(inspection: "Inspection") -> Book | None:
    """Return the Book of the ledger; None where it cannot be read, or nothing is charged."""
    path = None if inspection["cohort.part"] else inspection["privacy.ledger"]
    try:
        return None if path is None else inspection.book(path)
    except DpgrsError:
        return None
