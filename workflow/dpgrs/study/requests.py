"""The requests of a study: every grid point of its privacy settings, variant sets and numbers of outcomes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpgrs.methods.mechanisms import mechanism_named
from dpgrs.methods.requests import SHARES, PrivacyRequest, request_grid
from dpgrs.study.fit_identity import READS_OF_FIT
from dpgrs.study.identity import READS_OF_IDENTITY
from dpgrs.types import Metrics

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.types import Rows

READS_OF_REQUESTS = (
    "variants.size",
    "outcomes.count",
    "outcomes.bound",
    "outcomes.missing",
    "privacy.protection",
    "privacy.neighbours",
    "privacy.unit",
    "privacy.accounting",
    "privacy.epsilon",
    "privacy.delta",
    *(f"privacy.{name}" for name in SHARES),
    "privacy.outcome_budget",
    "covariates.share",
)
# From which the planned number of training rows follows. The number of outcomes that are drawn together is
# among the terms of a map, which a draw compares; tables that show it are private, and make no map.
READS_OF_PLAN = (
    *("cohort.planned_people", "cohort.source", "cohort.simulation.people", "cohort.copies.people"),
    *("outcomes.test_share", "outcomes.source"),
)
# Settings of the measures of a release.
READS_OF_METRICS = ("mode", "study", *READS_OF_IDENTITY, *READS_OF_FIT, "evaluation", "privacy.ledger")


def requests_of(
    settings: "StudyConfig", *, rows: "Rows", counts: Sequence[int]
) -> list[tuple[PrivacyRequest, int]]:
    """List every request of a study, with its number of outcomes, as from `request_grid`.

    The settings have `READS_OF_REQUESTS`; `counts` are numbers of outcomes that are drawn together.
    """
    privacy = settings.privacy
    return request_grid(
        protections=privacy.protection,
        accountings=privacy.accounting,
        epsilons=privacy.epsilon,
        sizes=settings.variants.size,
        counts=counts,
        rows=rows,
        outcome_bound=settings.outcomes.bound,
        counts_outcomes=settings.outcomes.are_counted,
        covariate_share=settings.covariates.share,
        **{
            name: getattr(privacy, name)
            for name in ("neighbours", "unit", "delta", *SHARES, "outcome_budget")
        },
    )


def reads_of_ld(*, has_maps: bool) -> list[str]:
    """Return the keys of the settings on which public linkage disequilibrium depends.

    `has_maps` is whether maps of genomes are among it, which noise and the planned number of rows steer.
    """
    further = (*READS_OF_PLAN, "release.genome_build", "privacy.direction_shares", "public.subtract")
    of_maps = (*READS_OF_REQUESTS, *further) if has_maps else ()
    return ["cohort.rows", "variants.size", "privacy.genotype_clip", *of_maps]


def reads_of_draw(config: "StudyConfig", mechanism: str) -> list[str]:
    """Return the keys of the settings on which the draws of a mechanism, given by name, depend."""
    of_mode = ("study", *READS_OF_IDENTITY, "privacy.ledger") if config.mode == "release" else ("seed",)
    return ["mode", *READS_OF_REQUESTS, *mechanism_named(mechanism).reads, *of_mode]


def is_measured_again(config: "StudyConfig") -> bool:
    """Return whether a draw of further outcomes measures earlier ones first, whose metrics were charged.

    After a new regression on covariates no outcome was measured.
    """
    is_charged = config.mode == "release" and config.evaluation.metrics == Metrics.CHARGED
    is_separate = config.privacy.outcome_budget == "separate"
    return is_charged and is_separate and not config.covariates.adjusts_first
