"""The cost of a study, and the accuracy to expect, before it reads private values or draws.

Every combination of a configuration's lists is a request. The mechanism is rehearsed on synthetic statistics,
which shows its draws and charges. Nothing is drawn or written. Of private tables only the names of the
columns are read, and nothing of the cohort's genotypes: a plan does not depend on the people.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.config.study import AUTO, StudyConfig
from dpgrs.errors import DpgrsError, UsageError
from dpgrs.methods.covariate_regression import expected_loss
from dpgrs.methods.registry import METHODS
from dpgrs.methods.requests import SHARES, PrivacyRequest
from dpgrs.planning.accuracy import plan_accuracy, unplanned_methods, within_bounds
from dpgrs.planning.draws import rehearse
from dpgrs.planning.public_variants import PlannedVariants, planned_variants
from dpgrs.preflight.checks import problems
from dpgrs.privacy.accounting.accountant import MARGIN, gdp_mu
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.accounting.composition import study_totals, total_cost
from dpgrs.privacy.accounting.events import Event, GaussianEvent
from dpgrs.privacy.accounting.exact_numbers import shown_above, text_above, text_below
from dpgrs.privacy.ledger.caps import strict_budget
from dpgrs.privacy.ledger.entries import Account, Budget
from dpgrs.privacy.ledger.ledger import Book, Ledger, shown_delta, shown_epsilon
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.study.job_limits import LONGEST_JOB, jobs_asked, machine_memory_mb
from dpgrs.study.method_choice import candidates, choice_in_words, method_of_request
from dpgrs.study.outcome_counts import stated_count
from dpgrs.study.people_terms import planned_people, training_rows
from dpgrs.study.release_cost import case_share
from dpgrs.study.requests import requests_of
from dpgrs.study.settings import examine
from dpgrs.study.shape import PlannedShape, ReferenceShape
from dpgrs.study.table_cohort import is_table
from dpgrs.study.table_settings import column_terms, covariate_terms, drawn_counts
from dpgrs.study.variant_terms import most_variants, takes_map
from dpgrs.types import Rows, Unit

if TYPE_CHECKING:
    import numpy as np

    from dpgrs.config.cohort import Dataset
    from dpgrs.config.outcomes import Outcomes

REQUEST_TERMS = ("delta", "neighbours", "unit", *SHARES)
LISTS = ("protection", "accounting", "epsilon")
# Words of preflight about a file that may be yet to come.
ABSENT = (" is not there", " matches no file", " has no .pgen and no .bed")
DIGITS, MOST_REQUESTS = 6, 1000
TERMS_OF_CHOICE = ("protection", "accounting", "epsilon", "n_variants", "n_outcomes")
# Differences of R^2 that decide nothing between methods (docs/measurements/frontier.md).
NEGLIGIBLE_R2 = 0.005
# The assumed number of people for frequencies, where it is not known.
FEWEST_PEOPLE = 2


def plan_study(
    settings: Mapping[str, Any],  # as from `read_settings`; resolved ones may be given, too
    *,
    people: int | None = None,  # to train and test on; None takes cohort.planned_people, or simulated ones
    heritabilities: Sequence[float] = (),  # assumed shares of variance; empty takes outcomes.heritability
    # Yields the requests, with their costs, one by one: before the accuracy of each is worked out.
    progress: Callable[[Sequence[dict[str, Any]]], Iterable[dict[str, Any]]] = iter,
) -> dict[str, Any]:
    """Work out costs, verdicts of the ledger, and the accuracy to expect of every request.

    Returns JSON values: ``study``, ``mode``, ``rows``, ``privacy``, ``assumptions``, ``ledger`` (None without
    one), ``not_planned`` (methods without an expected accuracy, and why), ``jobs`` (memory and run time that
    steps request), ``too_large`` (methods that cannot run on this machine, and why) and ``requests``. Lines
    of text are ``choice`` (the methods that `methods: auto` takes, and why; all its choices are planned),
    ``problems`` that keep the study from starting, and ``hints`` about files, a key and a ledger that may be
    yet to come. A run lists more before its first job: it reads the private files, too.

    A setting in doubt and an unknown number of people or outcomes are a UsageError, which lists all else that
    keeps the study from starting; so are terms that a mechanism refuses.
    """
    config, doubts = examine(settings)
    missing = [doubt.line for doubt in doubts]
    is_planned = people is None and config.cohort.planned_people is not None
    people = _noted(missing, _people, config, people)
    config, assumed = _noted(missing, _with_count, config) or (config, {})
    variant_set = _noted(missing, planned_variants, config, people or FEWEST_PEOPLE)
    study_problems, hints = _problems(config, doubtful=frozenset(doubt.key for doubt in doubts))
    if missing:
        raise UsageError("plan-refused", "\n".join(dict.fromkeys(missing + study_problems)))
    is_asked = AUTO in (settings.get("methods") or ())
    choice = choice_in_words(config, is_asked=is_asked)
    config = _with_candidates(config) if is_asked else config
    n_rows = training_rows(config, people)
    heritabilities = list(heritabilities) or [config.outcomes.heritability]
    book = _book(config)
    planned_requests, requests = _requests(config, variant_set.frequencies), []
    for number, (request, count) in enumerate(planned_requests, start=1):
        cost_options = {"frequency": variant_set.frequencies[request.n_variants], "config": config}
        costs = _costs(request, count, book=book, **cost_options)
        requests.append({"number": number, **_request_terms(request, count), **costs})
    for planned, (request, count) in zip(progress(requests), planned_requests, strict=True):
        size = request.n_variants
        model = {"n_rows": n_rows, "ld": variant_set.ld.get(size), "frequency": variant_set.frequencies[size]}
        model |= {"spectrum": variant_set.spectra.get(size)}
        model |= {"residual_variances": variant_set.residual_variances.get(size, ())}
        model |= {"config": config, "heritabilities": heritabilities}
        planned |= plan_accuracy(request, count, **model)
    if is_asked:
        choice += _better_choices(config, requests)
    return {
        "study": config.study,
        "mode": config.mode,
        "rows": config.cohort.rows,
        "privacy": {
            name: getattr(config.privacy, name) for name in (*REQUEST_TERMS, "outcome_budget", "bounds")
        },
        "assumptions": {"people": people, "training_rows": n_rows}
        | ({"people_from": "cohort.planned_people"} if is_planned else {})
        | {"frequencies": variant_set.of_frequencies}
        | _linkage(variant_set, config.methods)
        | assumed
        | _components(config.outcomes)
        | column_terms(config)
        | _regression(config, n_rows, counts=[count for _, count in planned_requests]),
        "ledger": _standing(config, book),
        "not_planned": unplanned_methods(
            config.methods,
            config.privacy.protection,
            has_ld=bool(variant_set.ld),
            bounds=config.privacy.bounds,
            of_table=is_table(config),
        ),
        "jobs": planned_jobs(config, people),
        "too_large": methods_too_large(config, people, machine_memory_mb()),
        "choice": choice,
        "requests": requests,
        "problems": study_problems,
        "hints": hints,
    }


def _with_candidates(config: StudyConfig) -> StudyConfig:
    """Return a configuration with all methods that `methods: auto` chooses from."""
    return config.changed(methods=dict.fromkeys([*config.methods, *candidates(config)]))


def _better_choices(config: StudyConfig, requests: Sequence[dict[str, Any]]) -> list[str]:
    """Name the requests where this plan expects more of another method than of the one that auto takes."""
    lines, people = [], planned_people(config)
    by, setting = f"for {people} planned people", ""
    if people is None:
        by, setting = "without knowing the number of people", "`cohort.planned_people`, or "
    for request in requests:
        expected = {planned["method"]: planned["r2"] for planned in reversed(request["expected"])}
        chosen = method_of_request(config, **{name: request[name] for name in TERMS_OF_CHOICE})
        best = max(set(expected) & set(candidates(config)), key=expected.get, default=chosen)
        if chosen in expected and expected[best] > expected[chosen] + NEGLIGIBLE_R2:
            lines.append(
                f"# {request['number']}: this plan expects R2 {expected[best]:.2f} of {best}, and "
                f"{expected[chosen]:.2f} of {chosen}, which `methods: auto` takes {by}. "
                f"State {setting}`methods: {best}`."
            )
    return lines


def _noted(lines: list[str], work_out: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function; if it refuses, None, with the reason added to the lines."""
    try:
        return work_out(*arguments)
    except UsageError as error:
        lines.append(str(error))


def _people(config: StudyConfig, people: int | None) -> int:
    if people is None and (people := planned_people(config)) is None:
        raise UsageError(
            "people-not-stated",
            "`--people` must be given where the cohort is not simulated, got nothing: how many there are is "
            "private. State the number that you plan for, here or as `cohort.planned_people`.",
        )
    return people


def _with_count(config: StudyConfig) -> tuple[StudyConfig, dict[str, str]]:
    """Return the configuration with its number of outcomes, and as a dict the source of an assumed number.

    Plans are made before access to the table of outcomes is granted; the constants are public.
    """
    outcomes = config.outcomes
    if outcomes.count:
        return config, {}
    try:
        count, name = stated_count(outcomes)
    except DpgrsError as error:
        raise UsageError(error.code, str(error)) from None
    if count == 0:
        raise UsageError(
            "outcome-count-not-stated",
            "`outcomes.count` must be the number of outcomes that you plan for, as neither `outcomes.file` "
            "nor `outcomes.scales` is there to count them, got null. Say it: --config 'outcomes={count: 10}'",
        )
    assumed = {} if name == "file" else {"outcomes": f"{count}, the lines of {getattr(outcomes, name)}"}
    return config.changed(outcomes={"count": [count]}), assumed


def _components(outcomes: "Outcomes") -> dict[str, str]:
    """Say as a dict that components are drawn instead of outcomes, if they are."""
    if outcomes.loadings is None:
        return {}
    (count,), (n_components,) = outcomes.count, drawn_counts(outcomes)
    return {"outcomes": f"{n_components} components of {count}, by the loadings of {outcomes.loadings}"}


def _requests(
    config: StudyConfig,
    frequencies: "Mapping[int, np.ndarray]",  # by number of variants
) -> list[tuple[PrivacyRequest, int]]:
    """List every combination of the lists as (PrivacyRequest within its bounds, number of outcomes)."""
    privacy, outcomes = config.privacy, config.outcomes
    try:
        counts = drawn_counts(outcomes)
    except DpgrsError as error:
        raise UsageError(error.code, f"`outcomes.loadings`: {error}") from None
    lists = (*(getattr(privacy, name) for name in LISTS), config.variants.size, counts)
    n_asked = math.prod(map(len, lists))
    if n_asked > MOST_REQUESTS:
        raise UsageError(
            "too-many-requests",
            f"A plan must be of at most {MOST_REQUESTS} combinations of settings, got {n_asked}. "
            "Give fewer values of `privacy`, `variants.size` or `outcomes.count`.",
        )
    config = config.changed(privacy={"case_share": case_share(config)})
    grid = requests_of(config, rows=config.cohort.rows, counts=counts)
    return [
        (
            within_bounds(
                request,
                privacy.bounds,
                frequency=frequencies[request.n_variants],
                config=config,
            ),
            count,
        )
        for request, count in grid
    ]


def _request_terms(request: PrivacyRequest, count: int) -> dict[str, Any]:
    names = ("protection", "accounting", "epsilon", "n_variants")
    return {name: getattr(request, name) for name in names} | {"n_outcomes": count}


def _costs(
    request: PrivacyRequest,
    count: int,
    *,
    frequency: "np.ndarray",  # (n_variants,) float64
    config: StudyConfig,
    book: Book | None,
) -> dict[str, Any]:
    """Return mechanisms, totals and the verdicts of budget and ledger on one request."""
    shared, by_outcome_events = rehearse(request, count, frequency=frequency, config=config)
    events = [*shared, *chain.from_iterable(by_outcome_events.values())]
    by_outcome, total_options = by_outcome_events or {"all": []}, {"delta": request.delta}
    totals = study_totals(shared, by_outcome, **total_options)
    person = None
    if (request.rows, request.unit) == (Rows.HAPLOTYPES, Unit.HAPLOTYPE):
        person = asdict(study_totals(shared, by_outcome, group_size=2, **total_options).study)
    budget, regression = config.privacy.budget, config.regression.as_dict()
    joining_terms = {"protection": request.protection, "has_effects": bool(config.public.effects)}
    is_joined = any(METHODS[name].pools_outcomes(regression, **joining_terms) for name in config.methods)
    return {
        "mechanisms": _mechanisms(events),
        "outcome": asdict(totals.study if is_joined else next(iter(totals.outcomes.values()))),
        "whole_study": asdict(totals.study),
        "person": person,
        "is_within_budget": None if budget is None else totals.study.ledger <= budget * (1 + MARGIN),
        "ledger": None if book is None else _verdicts(book, request, events, dataset=config.dataset),
    }


def _regression(config: StudyConfig, n_rows: int, *, counts: Sequence[int]) -> dict[str, Any]:
    """Return the expected cost of a first regression on covariates for outcomes; empty without one."""
    if not config.covariates.adjusts_first:
        return {}
    privacy, share = config.privacy, config.covariates.share
    n_shared = max(counts) if privacy.outcome_budget == "joint" else 1
    n_columns = covariate_terms(config.covariates)["n_covariates"] + 1
    mu = gdp_mu(min(privacy.epsilon), privacy.delta)
    loss = expected_loss(n_columns, n_shared, share=share, mu=mu, n_rows=n_rows)
    return {"regressed_covariates": n_columns - 1, "covariate_share": share, "covariate_loss": loss}


def _mechanisms(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Describe every mechanism once, with how often it runs, and of normal noise the share of all mu^2."""
    total = sum(event.mu**2 for event in events if isinstance(event, GaussianEvent))
    described = []
    for event, times in Counter(events).items():
        noise_terms = {"noise_sd": None, "mu": None, "share": None}
        if isinstance(event, GaussianEvent):
            noise_terms = {"noise_sd": event.sigma, "mu": event.mu, "share": times * event.mu**2 / total}
        described.append(
            {
                "statistic": event.statistic,
                "times": times,
                "entries": event.entries,
                "sensitivity": event.sensitivity.value,
                "proof": event.sensitivity.proof,
                **noise_terms,
                "epsilon": None if isinstance(event, GaussianEvent) else event.epsilon,
            }
        )
    return described


def _book(config: StudyConfig) -> Book | None:
    """Read the ledger, if there is one; reading leaves it as it is."""
    path = config.privacy.ledger
    return Ledger(path).read() if path and Path(path).exists() else None


def _problems(config: StudyConfig, *, doubtful: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the lines that keep a study from starting, and those about a file or key yet to come."""
    lines = problems(config, doubtful=doubtful, headers_only=True)
    # Plans are made before there is access or a ledger, and by people who will never hold the key.
    path, awaited = config.privacy.ledger, [f"`{VARIABLE}`"]
    if not (path and Path(path).exists()):
        awaited.append("`privacy.ledger`")
    hints = [
        line for line in lines if line.startswith(tuple(awaited)) or any(word in line for word in ABSENT)
    ]
    return [line for line in lines if line not in hints], hints


def _linkage(variant_set: PlannedVariants, methods: Sequence[str]) -> dict[str, str]:
    """Name the assumed linkage disequilibrium, and separately the one of fits along a map of the genome."""
    if not takes_map(methods):
        return {"linkage": variant_set.of_ld}
    if all(takes_map([name]) for name in methods):
        return {"linkage": f"that of {variant_set.of_spectra}"}
    return {"linkage": variant_set.of_ld, "genome_linkage": variant_set.of_spectra}


def _standing(config: StudyConfig, book: Book | None) -> dict[str, Any] | None:
    path = config.privacy.ledger
    if book is None:
        return {"path": path, "exists": False} if path else None
    return {"path": path, "exists": True, "accession": book.accession, "consent": book.consent}


def _verdicts(
    book: Book, request: PrivacyRequest, events: Sequence[Event], *, dataset: "Dataset"
) -> list[dict[str, Any]]:
    """Return the cost of a new request for every account of a ledger, and the remaining budget."""
    account = Account(request.protection, request.unit, request.neighbours)
    faults = [
        f"`dataset.{name}` is {getattr(dataset, name)}, not {getattr(book, name)}"
        for name in ("accession", "consent")
        if getattr(dataset, name) != getattr(book, name)
    ]
    if account not in book.budgets:
        faults.append(f"no account {account}")
    verdicts = []
    for other, budget in book.budgets.items():
        cost = total_cost(events, group_size=account.steps_between(other))
        spent = book.spent(other)
        after = spent + cost
        is_over = [] if after.is_within(budget.limit) else ["over the limit"]
        verdicts.append(
            {
                "account": str(other),
                "delta": budget.delta,
                "cost_mu_squared": text_above(cost.mu_squared, digits=DIGITS),
                "spent_mu_squared": text_above(spent.mu_squared, digits=DIGITS),
                "limit_mu_squared": text_below(budget.limit.mu_squared, digits=DIGITS),
                "remaining_mu_squared": None
                if is_over
                else text_below(budget.limit.mu_squared - after.mu_squared, digits=DIGITS),
                "spent_epsilon": shown_above(budget.epsilon(spent), digits=DIGITS),
                "after_epsilon": shown_above(budget.epsilon(after), digits=DIGITS),
                "limit_epsilon": shown_above(budget.epsilon(budget.limit), digits=DIGITS),
                "refusals": faults + is_over,
                "strict": _at_strict_delta(book, budget, after),
            }
        )
    return verdicts


def _at_strict_delta(book: Book, budget: Budget, spent: Cost) -> dict[str, str] | None:
    """Return a spent and an allowed epsilon at a delta small for so many people; None without one."""
    strict = strict_budget(budget, book.people_at_most)
    if strict is None:
        return None
    shown = {"after_epsilon": spent, "limit_epsilon": budget.limit}
    return {"delta": shown_delta(strict)} | {
        name: shown_epsilon(cost, strict) for name, cost in shown.items()
    }


def planned_jobs(
    config: StudyConfig,
    people: int,  # assumed
) -> list[dict[str, Any]]:
    """Return `step`, `mem_mb` and `minutes` that each step of a study requests, in the order of the data.

    A job uses a third of them or more.
    """
    shapes = PlannedShape(config, people), ReferenceShape(config)
    memory, minutes = (jobs_asked(config, *shapes, resource=name) for name in ("mem_mb", "runtime"))
    return [{"step": step, "mem_mb": memory[step], "minutes": minutes[step]} for step in memory]


def methods_too_large(
    config: StudyConfig,
    people: int,  # assumed
    memory_mb: int | None,  # of this machine; None if unknown
) -> dict[str, str]:
    """Return methods that take fewer columns than a study has, or too much memory or time, and why."""
    reasons, size = {}, max(config.variants.size)
    for name in config.methods:
        jobs = planned_jobs(config.changed(methods=[name]), people)
        largest = max(jobs, key=lambda job: job["mem_mb"])
        longest = max(jobs, key=lambda job: job["minutes"])
        if size > most_variants(name):
            reasons[name] = f"takes at most {most_variants(name):,} variants"
        elif memory_mb is not None and largest["mem_mb"] > memory_mb:
            reasons[name] = (
                f"`{largest['step']}` asks for {_gigabytes(largest['mem_mb'])} of memory, of "
                f"{_gigabytes(memory_mb)} here"
            )
        elif longest["minutes"] > LONGEST_JOB:
            reasons[name] = f"`{longest['step']}` asks for {longest['minutes'] / 1440:,.0f} days"
    return reasons


def _gigabytes(megabytes: float) -> str:
    return f"{megabytes / 1000:,.1f} GB"
