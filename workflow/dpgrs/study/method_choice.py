"""The method that `methods: auto` chooses for a study, only by public settings (docs/how-to/plan.md)."""

import math
from itertools import product

from dpgrs.config.study import AUTO, StudyConfig
from dpgrs.errors import DpgrsError
from dpgrs.fit_keys import MATCHED_PEOPLE
from dpgrs.methods.registry import METHODS
from dpgrs.statement.method_choice import (
    ALONE,
    DEFAULT,
    MANY_OUTCOMES,
    MANY_WEIGHTS,
    MOST_PLANNED,
    REASONS,
    reason_in_words,
)
from dpgrs.study.people_terms import has_same_ancestry, planned_people, rows_per_person, training_rows
from dpgrs.study.table_cohort import is_fractional
from dpgrs.study.variant_terms import RAREST, most_variants, takes_map
from dpgrs.types import Accounting, Bounds, Coding, Protection, Rows

# Where the number of people is planned, `_rows_to_noise` decides, too. From so many roots of the public rows
# on a fit on the public X'X loses; from so many on X'Y of some outcomes gains by steering
# (docs/measurements/plan.md#what-auto-takes).
ROWS_BEYOND_PUBLIC, ROWS_TO_STEER, OUTCOMES_TO_STEER = 2, 25, 10


def chosen_methods(config: StudyConfig) -> list[str]:
    """Return the methods that `methods: auto` takes: those for any request of a benchmark of several."""
    privacy, sizes = config.privacy, config.variants.size
    lists = (privacy.protection, privacy.accounting, privacy.epsilon, sizes, outcome_counts_ahead(config))
    return list(dict.fromkeys(method_of_request(config, *request) for request in product(*lists)))


def with_chosen_methods(config: StudyConfig) -> StudyConfig:
    """Return a configuration with methods instead of `auto`."""
    methods = config.methods
    if AUTO not in methods:
        return config
    index = methods.index(AUTO)
    methods_in_order = [*methods[:index], *chosen_methods(config), *methods[index + 1 :]]
    return config.changed(methods=dict.fromkeys(methods_in_order))


def choice_in_words(config: StudyConfig, *, says_default: bool = True, is_asked: bool = True) -> list[str]:
    """Say which methods of a study `methods: auto` takes, and why, a line each.

    `says_default` includes the default of a release; `is_asked` says whether the study has `methods: auto`.
    """
    chosen = [name for name in chosen_methods(config) if name in config.methods]
    chosen = [name for name in chosen if says_default or name != DEFAULT]
    return [reason_in_words(name, is_asked=is_asked) for name in chosen]


def candidates(config: StudyConfig) -> list[str]:
    """Return the methods among which `methods: auto` chooses with these genotypes, however many outcomes."""
    combinations = list(product(config.privacy.protection, config.variants.size))
    return [name for name in REASONS if any(_serves(name, config, *request) for request in combinations)]


def method_of_request(
    config: StudyConfig,
    protection: Protection,
    accounting: Accounting,
    epsilon: float,
    n_variants: int,
    n_outcomes: int,
) -> str:
    """Choose for one request: the first that serves and is called for, or what the preflight refuses."""
    is_many = n_outcomes >= MANY_OUTCOMES
    ratio = _rows_to_noise(config, protection, accounting, epsilon, n_variants, n_outcomes)
    is_steered = ratio is not None and ratio >= ROWS_TO_STEER and n_outcomes >= OUTCOMES_TO_STEER
    called_for = {
        "blup-genome": _trusts_public(config, None),
        "blup-ld": _trusts_public(config, ratio),
        "blup-steered": (is_many and n_outcomes * n_variants >= MANY_WEIGHTS)
        or (is_steered and config.privacy.outcome_budget == "joint"),
        "blup-shared": is_many,
        ALONE: not _serves(DEFAULT, config, protection, n_variants),
    }
    serving = (name for name in REASONS if _serves(name, config, protection, n_variants))
    return next((name for name in serving if called_for.get(name, True)), DEFAULT)


def _trusts_public(config: StudyConfig, ratio: float | None) -> bool:
    """Return whether public genotypes stand for X'X: of the cohort's ancestry, and of enough people."""
    if not has_same_ancestry(config):
        return False
    n_public = _n_public_people(config)
    most = ROWS_BEYOND_PUBLIC * math.sqrt(n_public * rows_per_person(config))
    return n_public >= MATCHED_PEOPLE and (ratio is None or ratio <= most)


def _rows_to_noise(
    config: StudyConfig,
    protection: Protection,
    accounting: Accounting,
    epsilon: float,
    n_variants: int,
    n_outcomes: int,
) -> float | None:
    """Divide the planned rows by the noise of X'X in variances of a column; None if the plan has no R2.

    Two digits, so that every machine makes the same choice.
    """
    people, privacy = planned_people(config), config.privacy
    if people is None or protection != Protection.FULL or privacy.bounds == Bounds.PAPER:
        return None
    from dpgrs.linalg.norms import outcome_norm
    from dpgrs.methods.requests import SHARES, TYPICAL_VARIANCE, PrivacyRequest

    variance = TYPICAL_VARIANCE * 2 / rows_per_person(config)
    n_shared = n_outcomes if privacy.outcome_budget == "joint" else 1
    bound, tight = config.outcomes.bound, {}
    if privacy.bounds == Bounds.TIGHT:
        tight = {
            "coding": Coding.FREQUENCY,
            "row_norm": privacy.genotype_clip * math.sqrt(n_variants * variance),
            "outcome_norm": outcome_norm(n_shared, factor=privacy.outcome_clip, bound=bound),
        }
    try:
        request = PrivacyRequest(
            rows=config.cohort.rows,
            n_variants=n_variants,
            n_outcomes=n_shared,
            outcome_bound=bound,
            epsilon=epsilon,
            accounting=accounting,
            **{name: getattr(privacy, name) for name in ("delta", "neighbours", "unit", *SHARES)},
            **tight,
        )
        return float(f"{training_rows(config, people) * variance / request.noise_sd['gram']:.2g}")
    except DpgrsError:
        return None  # the preflight names the fault


def _serves(name: str, config: StudyConfig, protection: Protection, n_variants: int) -> bool:
    """Return whether a method exists for the inputs of a study."""
    row = METHODS[name]
    if row.takes_map and not (n_variants > MOST_PLANNED and _permits_map(config)):
        return False
    has_columns = is_fractional(config) and not row.takes_map
    covariates, public = config.covariates, config.public
    has_columns |= bool(covariates.file or covariates.pcs) and not covariates.first
    has_ld = _has_reference(config) and config.privacy.bounds == Bounds.TIGHT
    if config.privacy.outcome_budget == "joint":
        has_budget = name != ALONE
    else:
        budget_options = {"protection": protection, "has_effects": bool(public.effects)}
        has_budget = not METHODS[name].pools_outcomes(config.regression.as_dict(), **budget_options)
    return (
        has_budget
        and n_variants <= most_variants(name)
        and protection in row.protections
        and (row.takes_covariates or not has_columns)
        and (row.takes_effects or not public.effects)
        and (row.takes_map or config.privacy.ld_share is None)
        and (has_ld or not row.takes_ld)
    )


def _permits_map(config: StudyConfig) -> bool:
    """Return whether a study may be released along a public map of the genome, with its LD aside."""
    cohort = config.cohort
    return (
        cohort.rows == Rows.PEOPLE
        and cohort.source != "table"
        and not (cohort.part or cohort.sums)
        and planned_people(config) is not None
        and config.variants.maf >= RAREST
        and not config.outcomes.loadings
        # Effects that go together serve other methods only, and files are not read here.
        and not config.public.effects
        and config.privacy.case_share is None
    )


def scales_by_panel(config: StudyConfig) -> bool:
    """Return whether a fit of a study may scale scores by the people of the public reference."""
    return has_same_ancestry(config) and takes_map(config.methods) and config.privacy.ld_share is None


def _n_public_people(config: StudyConfig) -> int:
    from dpgrs.study.cohort_files import n_chosen_reference_people  # readers of genotypes, likewise

    return n_chosen_reference_people(config)


def _has_reference(config: StudyConfig) -> bool:
    public = config.public
    return config.cohort.source == "simulate" or bool(public.reference and not public.sites)


def outcome_counts_ahead(config: StudyConfig) -> list[int]:
    """Return how many outcomes, or components of these, are drawn together: [1] if that is not known yet."""
    from dpgrs.study.outcome_counts import stated_count  # pandas, for studies that ask
    from dpgrs.study.table_settings import drawn_counts

    outcomes = config.outcomes
    try:
        counts = drawn_counts(outcomes) or [stated_count(outcomes)[0]]
    except DpgrsError:
        return [1]  # the preflight names the fault
    return [count or 1 for count in counts]
