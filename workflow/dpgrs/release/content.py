"""The content of a release's statement, only from released values, public files and the ledger."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs import __version__
from dpgrs.fit_keys import further_inputs
from dpgrs.genotypes.dosages import DOSAGE_STEP
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.io.tables.outcome_scales import scales_digest
from dpgrs.methods.mechanisms import drawn_names, request_of
from dpgrs.methods.planning import expected_noise_sd
from dpgrs.methods.registry import METHODS, is_ridge
from dpgrs.privacy.accounting.accountant import gdp_delta
from dpgrs.privacy.accounting.composition import group_guarantee, study_totals, total_cost
from dpgrs.privacy.accounting.events import event_of
from dpgrs.privacy.accounting.exact_numbers import float_below, root_above, text_above
from dpgrs.privacy.ledger.entries import Account
from dpgrs.release.case_counts import case_counts
from dpgrs.release.covariates import covariate_inputs, regression_inputs, with_regression
from dpgrs.release.pgs_catalog import site_digest
from dpgrs.release.statement import ledger_standing
from dpgrs.statement.conditions import FIXED_SITES_INPUT
from dpgrs.statement.content import Curation, PublicInput, StatementContent, Terms, Total
from dpgrs.statement.effects_metadata import TRUNCATED_LD
from dpgrs.statement.files import OUTCOME_LOADINGS, SCALES
from dpgrs.statement.findings import (
    causes_in_words,
    correlations_in_words,
    mismatch_in_words,
    share_in_words,
)
from dpgrs.statement.post_processing import START, post_processing
from dpgrs.statement.words import ORIGIN_OF_ROWS, PREPROCESSING, PUBLIC_SIDE, ROWS_INPUT
from dpgrs.study.checked_data import check_inputs
from dpgrs.study.identity import public_identity
from dpgrs.study.method_choice import choice_in_words
from dpgrs.study.people_terms import terms_of
from dpgrs.study.provenance import provenance
from dpgrs.study.table_settings import outcome_constants
from dpgrs.types import Coding, Metrics, Missing, Penalty, Protection, Rows, Unit
from dpgrs.verify.draw_check import MOMENT_NORM

if TYPE_CHECKING:
    import pandas as pd

    from dpgrs.config.outcomes import Outcomes as OutcomeSettings
    from dpgrs.config.privacy import Evaluation
    from dpgrs.config.release import Public
    from dpgrs.config.study import StudyConfig
    from dpgrs.linalg.linear_fit import LinearFit
    from dpgrs.methods.reusecov import NoisyStatistics
    from dpgrs.privacy.accounting.events import Event
    from dpgrs.privacy.ledger.ledger import Book

CLAIM_DIGITS = 6


def release_content(
    settings: "StudyConfig",
    sites: "pd.DataFrame",
    label: dict[str, Any],
    book: "Book",
    *,
    noisy: "NoisyStatistics",
    measured: Sequence[dict[str, Any]],
    stated: Sequence,
    audits: dict[str, Any] | None,
    loadings: Path | None,
    fit: dict[str, Any],
    fitted: "LinearFit",
    effects: Sequence[dict[str, Any]] = (),
    traits: Sequence[dict[str, Any]] = (),
    regression: dict[str, Any] | None = None,
    truncated_ld: str | None = None,
) -> StatementContent:
    """Return all that the statement of a release says.

    `label` and `noisy` are the draws, from `dpgrs.study.released.load_released`; `measured` and `stated`
    are from `dpgrs.study.released_accuracy.load_accuracy`, `audits` from `summarise_audits`, None if a study
    leaves them out. `fit` are the settings of the fit and the public files that it took, `fitted` the
    weights, `effects` the files of public effects and `traits` the curator's words on the outcomes.
    `regression` is the label of a regression on covariates that came before, `truncated_ld` the SHA-256 of
    the LD of effects along directions.
    """
    label = with_regression(label, regression)
    request, digest, draws = label["request"], site_digest(sites), _draws_of_outcomes(label, measured)
    method = fit["method"]
    options = {"protection": request["protection"], "has_effects": bool(effects)}
    is_joined = METHODS[method].pools_outcomes(fit, **options)
    run, totals = provenance(settings, []), _totals(label, draws, is_joined=is_joined)
    account = Account(request["protection"], request["unit"], request["neighbours"])
    missing = Missing.COUNTED if request["counts_outcomes"] else Missing.NONE
    return StatementContent(
        version=__version__,
        commit=run["commit"],
        curation=_curation(settings, traits),
        dataset=public_identity(settings)["dataset"],
        genome_build=settings.release.genome_build,
        n_variants=len(sites),
        site_digest=digest,
        outcomes=tuple(label["outcomes"]),
        terms=_privacy_terms(request, totals),
        events=tuple(event | {"outcome": owner} for event, owner in draws),
        per_outcome=Total(totals["per_outcome"], request["delta"]),
        whole_study=Total(totals["epsilon"], request["delta"]),
        ledger=ledger_standing(book, account, sorted({event["request"] for event, _ in draws})),
        public_inputs=(
            *_public_inputs(settings, digest, label, fit),
            *(
                PublicInput(
                    f"effects of {effect_file['name']}", effect_file["digest"], effect_file["matched"]
                )
                for effect_file in effects
            ),
            *covariate_inputs(settings, loadings),
            *(
                PublicInput(TRUNCATED_LD, ld_digest, "the public map of the genome")
                for ld_digest in filter(None, [truncated_ld])
            ),
            *(() if regression is None else regression_inputs(request_of(regression))),
        ),
        post_processing=tuple(
            post_processing(
                method,
                fit,
                protection=request["protection"],
                missing_outcomes=missing,
                choice=choice_in_words(settings, says_default=False),
                components=label.get("components", ()),
                fit_findings=found_in_words(fitted, label["outcomes"]),
                has_accuracy=bool(measured),
                is_adjusted=regression is not None,
                has_moments=request.get("ld_share") is not None,
            )
        ),
        preprocessing=_preprocessing(settings),
        expected_noise_sd=_noise_of_weights(fit, sites, label, noisy),
        accuracy=tuple(stated) or Metrics.WITHHELD,
        audit=audits,
        person=totals["person"],
        is_joined=is_joined,
        method=method,
        fit={name: value for name, value in fit.items() if name != "method"},
        missing_outcomes=missing,
        case_counts=_case_counts(settings, label, noisy),
    )


def _case_counts(
    settings: "StudyConfig", label: dict[str, Any], noisy: "NoisyStatistics"
) -> tuple[dict[str, Any], ...]:
    """Return the noisy numbers of cases and controls of 0/1 outcomes; none if they were not drawn."""
    if not request_of(label).counts_cases:
        return ()
    constants = outcome_constants(settings.outcomes, label["outcomes"])
    return case_counts(label, noisy, is_binary=constants["is_binary"].to_numpy())


def _noise_of_weights(
    fit: dict[str, Any], sites: "pd.DataFrame", label: dict[str, Any], noisy: "NoisyStatistics"
) -> Any:
    """Return the expected noise sd of a weight of ridge with a stated lambda; None of any other fit."""
    request = request_of(label)
    if not is_ridge(fit["method"], fit["lambda_from"]) or request.coding != Coding.HALF:
        return None
    ridge_inputs = {
        "n_rows": label["n"],
        "frequency": sites["frequency"].to_numpy(),
        "penalty": fit["lambda"],
    }
    return expected_noise_sd(request, slopes=noisy.slopes, **ridge_inputs)


def _draws_of_outcomes(
    label: dict[str, Any], measured: Sequence[dict[str, Any]]
) -> list[tuple[dict[str, Any], str | None]]:
    """Return every draw with the one outcome that it serves, or None; draws of accuracy come last."""
    names = drawn_names(label)
    n_budgets = len(names) // label["request"]["n_outcomes"]
    outcomes_by_request = {request: outcomes for (_, *outcomes), request in label["requests"]}
    events = [(event, outcomes_by_request[event["request"]]) for event in label["events"]]
    owners = names if n_budgets > 1 else [None]
    return [
        # With a single outcome, draws are not told apart by outcome.
        *((event, served[0] if len(served) == 1 < len(names) else None) for event, served in events),
        *zip(measured, owners, strict=bool(measured)),
    ]


def _totals(
    label: dict[str, Any], draws: Sequence[tuple[dict[str, Any], str | None]], *, is_joined: bool
) -> dict[str, Any]:
    """Return epsilon of one outcome, of the whole study, and a person's loss if it is another.

    If weights of an outcome depend on draws of others, it loses what the whole study does. Without accuracy
    the outcomes of a budget cost what was requested, if their draws do not exceed it.
    """
    request, by_owner = label["request"], {}
    for event, owner in draws:
        by_owner.setdefault(owner, []).append(event_of(event))
    shared = by_owner.pop(None, [])
    events = [*shared, *(event for owned in by_owner.values() for event in owned)]
    summed = study_totals(shared, by_owner, delta=request["delta"])
    has_accuracy = len(draws) > len(label["events"])
    is_joint = "components" in label or request["n_outcomes"] == label["n_outcomes"]
    epsilon = summed.study.ledger
    if is_joint and not has_accuracy and _is_as_asked(events, request):
        epsilon = request["epsilon"]
    per_outcome = max((total.ledger for total in summed.outcomes.values()), default=epsilon)
    budgets = [shared + owned for owned in by_owner.values()]
    if (
        not is_joint
        and not has_accuracy
        and all(_is_as_asked(budget_events, request) for budget_events in budgets)
    ):
        per_outcome = request["epsilon"]
    if is_joined:
        per_outcome = epsilon
    person, stated = None, _above(epsilon)
    if (request["rows"], request["unit"]) == (Rows.HAPLOTYPES, Unit.HAPLOTYPE):
        # Twice what is stated of a haplotype, which has been rounded, and the delta there.
        loss = group_guarantee(float_below(Fraction(stated)), request["delta"], cost=total_cost(events))
        of_person = text_above(2 * Fraction(stated), digits=CLAIM_DIGITS + 1)
        person = Total(of_person, _above(loss.delta))
    return {"epsilon": stated, "per_outcome": _above(per_outcome), "person": person}


def _is_as_asked(events: "Sequence[Event]", request: dict[str, Any]) -> bool:
    """Return whether draws keep within the (epsilon, delta) of a budget."""
    cost = total_cost(events)
    epsilon = Fraction(repr(request["epsilon"])) - cost.pure_epsilon
    return epsilon >= 0 and gdp_delta(root_above(cost.mu_squared), float_below(epsilon)) <= request["delta"]


def _above(number: float) -> str:
    """Write a number for readers: rounded up, so that the claim holds; a short one as it is."""
    return text_above(Fraction(repr(number)), digits=CLAIM_DIGITS)


def _privacy_terms(request: dict[str, Any], totals: dict[str, Any]) -> Terms:
    named = {name: request[name] for name in ("protection", "unit", "neighbours", "accounting", "rows")}
    return Terms(epsilon=totals["epsilon"], delta=request["delta"], **named)


def _inputs_of_accuracy(
    evaluation: "Evaluation", outcomes: "OutcomeSettings", origin: str
) -> Iterator[PublicInput]:
    if outcomes.test_share > 0:
        share = f"a share of {outcomes.test_share:g}"
        yield PublicInput("people held out", share, "a hash of the sample id")
    if evaluation.metrics == "charged":
        bound = evaluation.residual_bound or outcomes.bound
        yield PublicInput("residual bound", f"{bound:g}", "chosen in the configuration")
    if evaluation.metrics == "public":
        source = "simulated" if outcomes.source == "simulate" else "from a table"
        yield PublicInput("people measured on, with their outcomes", source, origin)


def _preprocessing(settings: "StudyConfig") -> tuple[str, ...]:
    preprocessing = settings.release.preprocessing
    if preprocessing is None:
        return ()
    return (f"{PREPROCESSING}{preprocessing}",)


def _curation(settings: "StudyConfig", traits: Sequence[dict[str, Any]]) -> Curation:
    elsewhere = ("genome_build", "preprocessing", "audit_draws", "statistics")
    texts = {name: value or "" for name, value in settings.release.as_dict().items() if name not in elsewhere}
    texts["acknowledgement"] = settings.dataset.acknowledgement or ""
    texts["beyond_20"] = settings.privacy.beyond_20 or ""
    texts |= {"title": settings.release.title or settings.study, "traits": traits}
    return Curation(**texts)


def _public_inputs(
    settings: "StudyConfig", digest: str, label: dict[str, Any], fit: dict[str, Any]
) -> Iterator[PublicInput]:
    origin = settings.public.origin or (
        f"a simulated reference cohort of {settings.cohort.simulation.reference_people} other people"
    )
    yield from _public_side(settings.public, label["request"]["protection"])
    yield PublicInput("site list", digest, origin)
    yield PublicInput("allele frequencies", "in the site list", origin)
    if "ld" in fit:
        yield PublicInput("genotypes whose linkage disequilibrium the fit takes", fit["ld"], origin)
    if "same_ancestry" in fit:
        yield PublicInput(
            "ancestry of the public genotypes", "stated to be the cohort's", "chosen in the configuration"
        )
    yield PublicInput(
        "outcome bound", f"{label['request']['outcome_bound']:g}", "chosen in the configuration"
    )
    yield PublicInput(ROWS_INPUT, str(label["n"]), ORIGIN_OF_ROWS[label["request"]["neighbours"]])
    missing = settings.outcomes.missing
    yield PublicInput("whether outcomes may be missing", missing, "chosen in the configuration")
    yield PublicInput("seed", str(settings.seed), "simulation, thinning and split alone")
    yield PublicInput("outcome names", str(label["n_outcomes"]), "given by the curator")
    if settings.outcomes.scales:
        # Of this study's outcomes, as the bundle has them.
        digest = scales_digest(outcome_constants(settings.outcomes, label["outcomes"]))
        yield PublicInput("centre and scale of the outcomes", digest, f"a table of the curator, {SCALES}")
    if settings.outcomes.prevalence:
        prevalence = f"{settings.outcomes.prevalence:g}"
        yield PublicInput("prevalence of the outcomes", prevalence, f"of the simulation, {SCALES}")
    if settings.outcomes.loadings:
        outcome_loadings = read_outcome_loadings(settings.outcomes.loadings)
        yield PublicInput(
            "loadings of the outcomes on components",
            outcome_loadings.digest,
            f"{outcome_loadings.origin}, {OUTCOME_LOADINGS}",
        )
    if settings.cohort.field == "DS":
        yield PublicInput("genotypes", "imputed dosages", f"rounded to multiples of {DOSAGE_STEP:g}")
    if settings.cohort.fixed_sites:
        yield PublicInput(*FIXED_SITES_INPUT, "stated by the curator")
    yield from check_inputs(settings)
    people = terms_of(settings)
    if people.public:
        yield PublicInput("choice of people", people.in_words, "fixed lists, whose ids stay private")
    for number in sorted({event["n_choices"] for event in label["events"] if "n_choices" in event}):
        yield PublicInput("variants to choose for an outcome", str(number), "chosen in the configuration")
    yield from _inputs_of_accuracy(settings.evaluation, settings.outcomes, origin)
    yield from _inputs_of_fit(fit, label["request"])


def _public_side(public: "Public", protection: Protection) -> Iterator[PublicInput]:
    """Yield the files of the data that are taken as public, in the order of their digests."""
    side = {Protection.FEATURE: "outcomes", Protection.LABEL: "genotypes"}.get(protection)
    if side is not None:
        digests, origin = getattr(public, side).sha256, getattr(public, side).origin
        for digest in [digests] if side == "outcomes" else sorted(digests):
            yield PublicInput(PUBLIC_SIDE[protection], digest, origin)


def _inputs_of_fit(fit: dict[str, Any], request: dict[str, Any]) -> Iterator[PublicInput]:
    chosen = "chosen in the configuration"
    if request["coding"] != Coding.HALF:
        yield PublicInput("norm of a row of genotypes", f"{request['row_norm']:g}", "public frequencies")
    if request["outcome_norm"] is not None:
        is_seen = request["protection"] == Protection.FEATURE
        origin = "the largest there is of the public outcomes" if is_seen else chosen
        if METHODS[fit["method"]].takes_map:
            origin = "the public map of the genome"
        yield PublicInput("norm of a row of outcomes", f"{request['outcome_norm']:g}", origin)
    if request.get("moment_norm") is not None:
        yield PublicInput(MOMENT_NORM, f"{request['moment_norm']:g}", "the public map of the genome")
    method = METHODS[fit["method"]]
    if "lambda" in method.reads and fit["lambda_from"] == Penalty.FIXED:
        yield PublicInput("lambda", f"{fit['lambda']:g}", chosen)
    if fit["heritability"] is not None:
        yield PublicInput("heritability", f"{fit['heritability']:g}", chosen)
    yield from (PublicInput(name, value, chosen) for name, value in further_inputs(fit).items())


def found_in_words(fitted: "LinearFit", names: Sequence[str]) -> tuple[str, ...]:
    """Return what a fit found out about outcomes and public files, in words."""
    lines = () if fitted.mismatch is None else (mismatch_in_words(fitted.mismatch),)
    if fitted.public_share is not None:
        lines += (share_in_words(fitted.public_share),)
    if fitted.n_factors is not None:
        lines += (causes_in_words(int(fitted.n_factors)),)
    if fitted.correlations is None:
        return lines
    return (*lines, START, correlations_in_words(names, fitted.correlations))
