"""What a release costs, from its settings: the budget of every draw is public before anything is read."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpgrs.io.replicates import summed_outcomes
from dpgrs.io.tables.phenotypes import outcome_names
from dpgrs.linalg.norms import outcome_norm
from dpgrs.methods.chosen_requests import ScreenedRequest, ScreeningTerms
from dpgrs.methods.covariate_mechanism import covariate_request
from dpgrs.methods.covariate_regression import CovariateRequest
from dpgrs.methods.mechanisms import mechanism_named, mechanism_of
from dpgrs.methods.registry import METHODS, REGRESSION
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.accounting.accountant import MARGIN, gdp_epsilon, split_budget
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.accounting.events import MECHANISM_VERSION, GaussianEvent
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.privacy.digests import digest
from dpgrs.privacy.ledger.entries import Account, Request
from dpgrs.privacy.noise.claims import scale_above
from dpgrs.study.fit_identity import fit_identity, fit_settings
from dpgrs.study.identity import ACCURACY, identify_accuracy, identify_part, public_identity
from dpgrs.study.requests import requests_of
from dpgrs.study.table_settings import column_terms, covariate_terms, drawn_counts
from dpgrs.types import Bounds, Coding, Metrics, Missing, Protection

if TYPE_CHECKING:
    from dpgrs.config.privacy import Privacy
    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.sum_mechanisms import SharedStatistics
    from dpgrs.privacy.ledger.ledger import Book

# Terms of an identity that a run finds out: the chosen sites, and all that follows from them and the draws.
FOUND_LATER = ("sites", "part", "row_norm", "loadings", "ld", "adjusted_by")
UNKNOWN_NORM = 1.0


@dataclass(frozen=True)
class Part:
    """One request of a release to its ledger, or several alike."""

    kind: str  # genotypes, outcomes, covariates or accuracy
    mus: tuple[float, ...]  # the budget of every Gaussian draw
    times: int  # how many requests there are
    epsilons: tuple[float, ...] = ()  # the budget of every pure draw; these come first

    @property
    def cost(self) -> Cost:
        """The cost of one of them; a ledger counts less by no more than a rounding of the noise."""
        return Cost(
            sum((Fraction(mu) ** 2 for mu in self.mus), Fraction(0)),
            sum(map(Fraction, self.epsilons), Fraction(0)),
        )


def account_of(privacy: "Privacy") -> Account:
    """Return the account of the ledger that a study's privacy settings name."""
    return Account(privacy.protection[0], privacy.unit, privacy.neighbours)


def total_epsilon(config: "StudyConfig") -> float:
    """Return the epsilon of all outputs of a release together, at its delta.

    With separate budgets every outcome adds its own cross product, and its own accuracy if that is charged.
    """
    privacy = config.privacy
    if privacy.outcome_budget == "joint" and config.evaluation.metrics != Metrics.CHARGED:
        return privacy.epsilon[0]
    cost = whole_cost(config)
    return gdp_epsilon(math.sqrt(cost.mu_squared), privacy.delta) + float(cost.pure_epsilon)


def whole_cost(config: "StudyConfig") -> Cost:
    """Return the Cost of all parts of a release to a unit of its account, replays too."""
    planned_requests = _all_parts(config)[1]
    mu_squared = sum(planned.times * planned.cost.mu_squared for planned in planned_requests)
    pure = sum((planned.times * planned.cost.pure_epsilon for planned in planned_requests), Fraction(0))
    return Cost(mu_squared, pure)


def certain_cost(config: "StudyConfig", book: "Book") -> Cost:
    """Return what a release costs at least beyond what its ledger holds, to a unit of its account.

    A request that the ledger holds is a replay and free. A run finds out which sites are chosen; a request
    that differs from an earlier one only in terms that follow from them or in names of outcomes counts as a
    replay here. A request that rests on new noise is new. The job that charges compares everything. A table
    that must state the number of outcomes and cannot be read is refused.
    """
    return _cost_of_new(config, book)


def later_cost(config: "StudyConfig", book: "Book", *, n_new: Mapping[str, int]) -> Cost:
    """Return what a release costs at least after its regression on covariates, to a unit of its account.

    `n_new` has numbers of new requests by the kind of a Part, ``covariates`` and ``genotypes``. Other kinds
    count as in `certain_cost`.
    """
    return _cost_of_new(config, book, n_new=n_new)


def _cost_of_new(
    config: "StudyConfig",
    book: "Book",
    *,
    n_new: Mapping[str, int] = MappingProxyType({}),
) -> Cost:
    """Return what new requests cost at least, without the kind ``covariates`` if `n_new` has it."""
    planned_requests = _planned_requests(config)
    new = Counter({key: planned.times for key, planned in planned_requests.items()})
    new -= Counter(_replayed(earlier, planned_requests) for earlier in book.requests.values())
    new |= Counter({key: n_new.get(planned.kind, 0) for key, planned in planned_requests.items()})
    new |= _resting_on(new, planned_requests)
    costs = [
        (times, planned_requests[key].cost)
        for key, times in new.items()
        if not (planned_requests[key].kind == "covariates" and n_new)
    ]
    mu_squared = sum(times * cost.mu_squared for times, cost in costs)
    pure = sum((times * cost.pure_epsilon for times, cost in costs), Fraction(0))
    return Cost(mu_squared * (1 - Fraction(MARGIN)), pure)


def _resting_on(new: Counter[str], planned_requests: Mapping[str, Part]) -> Counter[str]:
    """Count the requests that rest on new noise: sums of adjusted outcomes, and accuracies of new weights."""
    key_by_kind = {planned.kind: key for key, planned in planned_requests.items()}
    sums, accuracy = key_by_kind["outcomes"], key_by_kind.get("accuracy")
    times, resting = planned_requests[sums].times, Counter()
    # All budgets are adjusted together.
    resting[sums] = times if new[key_by_kind.get("covariates")] else 0
    if accuracy is not None:
        n_budgets, n_new = planned_requests[accuracy].times, max(new[sums], resting[sums])
        resting[accuracy] = (
            n_budgets if new[key_by_kind.get("genotypes")] else math.ceil(n_new * n_budgets / times)
        )
    return resting


def other_version(config: "StudyConfig", book: "Book") -> int | None:
    """Return the other version of the mechanisms that made a release, as far as is known before a run.

    None means that this version made it, or none.
    """
    planned_requests = _planned_requests(config)
    versions = {
        earlier.identity["version"]
        for earlier in book.requests.values()
        # An accuracy is of weights, which are another version's or another release's.
        if earlier.identity["mechanism"] != ACCURACY
        and _replayed(earlier, planned_requests, version=MECHANISM_VERSION)
    }
    return min(versions - {MECHANISM_VERSION}, default=None)


def settings_of_ledger(config: "StudyConfig", book: "Book") -> dict[str, Any] | None:
    """Return the settings with which X'X would be one that the ledger holds, and cost nothing.

    They are `privacy.gram_share` and `outcomes.missing`, the study's own if X'X is such already; None if
    there are none, as after a release at another epsilon, or if the method draws no X'X for all outcomes.
    """
    if "gram" not in mechanism_of(config.methods[0]).draws.get("genotypes", ()):
        return None
    for missing in sorted(Missing, key=lambda option: option != config.outcomes.missing):
        changed = config.changed(outcomes={"missing": missing})
        if (share := _share_of_ledger(changed, book)) is not None:
            return {"privacy.gram_share": share, "outcomes.missing": missing.value}
    return None


def _share_of_ledger(config: "StudyConfig", book: "Book") -> float | None:
    """Return the share with which X'X would be one that the ledger holds, the study's own first."""
    request, (genotypes, *_) = _all_parts(config)
    account = account_of(config.privacy)
    charged_requests = [earlier for earlier in book.requests.values() if earlier.account == account]
    requests_by_key = defaultdict(list)
    for earlier in charged_requests:
        requests_by_key[_as_known(earlier.identity, account)].append(earlier)
    mu_squared = sum(request.budget.get(name, 0) ** 2 for name in ("gram", "cross", "cases"))
    shares = [request.share_of_gram] + [
        float(f"{float(_mu(draw)) ** 2 / mu_squared:.{n_digits}g}")
        for earlier in reversed(charged_requests)
        for draw in earlier.identity["draws"]
        if draw.get("statistic") == "gram"
        for n_digits in (2, 3, 4)
    ]
    for share in shares:
        changed = config.changed(privacy={"gram_share": share})
        if genotypes.kind != "genotypes" or not 0 < share < 1:
            continue
        # The first request of a release is of the genotypes if any is.
        first, planned = next(iter(_planned_requests(changed).items()))
        if any(_is_by(earlier, planned.mus) for earlier in requests_by_key[first]):
            return share
    return None


def asks_again(config: "StudyConfig", requests: Iterable[Request]) -> bool:
    """Return whether a release makes all of these requests of the ledger again, as far as is known before a
    run."""
    planned_requests = _planned_requests(config)
    planned_counts = Counter({key: planned.times for key, planned in planned_requests.items()})
    again = Counter(_replayed(earlier, planned_requests) for earlier in requests)
    # One more regression on covariates makes every request of adjusted outcomes new.
    regressions = [key for key, planned in planned_requests.items() if planned.kind == "covariates"]
    return again <= planned_counts and all(again[key] == planned_counts[key] for key in regressions)


def _planned_requests(config: "StudyConfig") -> dict[str, Part]:
    """Map the public key of every request of a release, known before a run, to its Part."""
    account, (request, planned_requests) = account_of(config.privacy), _all_parts(config)
    return {_as_known(_identity(planned, config, request), account): planned for planned in planned_requests}


def _all_parts(config: "StudyConfig") -> tuple[PrivacyRequest, list[Part]]:
    """Return the request of a release, and the requests of its steps to the ledger."""
    outcomes = config.outcomes
    sums = config.cohort.sums
    counted = outcomes.count or [len(summed_outcomes(sums) if sums else outcome_names(outcomes.file))]
    counts = drawn_counts(outcomes.changed(count=counted))
    counting_cases = config.changed(privacy={"case_share": case_share(config)})
    request, count = requests_of(counting_cases, rows=config.cohort.rows, counts=counts)[0]
    request = _bounded(request, config)
    return request, _release_requests(config, request, n_budgets=count // request.n_outcomes)


def _bounded(request: PrivacyRequest, config: "StudyConfig") -> PrivacyRequest:
    """Return a request within the bounds of a release, as far as they are known, and with its screening."""
    if config.privacy.bounds == Bounds.TIGHT:
        request = replace(request, **_norms(config, request.n_outcomes))
    if not METHODS[config.methods[0]].draws_from_rows:
        return request
    request, screening = replace(request, outcome_norm=None), screening_terms(config)
    return request if screening is None else ScreenedRequest(**asdict(request), screening=screening)


def case_share(config: "StudyConfig") -> float | None:
    """Return the share of the budget for numbers of cases; None if the release counts none."""
    outcome_statistics = mechanism_of(config.methods[0]).draws.get("outcomes", ())
    is_public = config.privacy.protection[0] == Protection.FEATURE
    return config.privacy.case_share if "cases" in outcome_statistics and not is_public else None


def screening_terms(config: "StudyConfig") -> ScreeningTerms | None:
    """Return how a release chooses variants; None if its method takes all."""
    selector = METHODS[config.methods[0]].selector
    return selector and ScreeningTerms.of(config.screening, selector)


def _norms(config: "StudyConfig", n_shared: int) -> dict[str, Any]:
    """Return how rows will be clipped; the norm of genotypes follows from sites that are yet to be chosen."""
    outcomes, privacy = config.outcomes, config.privacy
    norm = outcome_norm(n_shared, factor=privacy.outcome_clip, bound=outcomes.bound)
    row_bounds = {"coding": Coding.FREQUENCY, "row_norm": UNKNOWN_NORM, "outcome_norm": norm}
    return row_bounds | column_terms(config)


def _release_requests(config: "StudyConfig", request: PrivacyRequest, *, n_budgets: int) -> list[Part]:
    """List the requests of a release, as its steps make them."""
    mechanism, evaluation = mechanism_of(config.methods[0]), config.evaluation
    budget = mechanism.terms(request).budget
    # Public statistics have no share, and are not drawn.
    shared, outcome_mus = (
        [budget[name] for name in draws if budget[name]] for draws in mechanism.draws.values()
    )
    planned_requests = [Part("genotypes", tuple(shared), times=1)] if shared else []
    times = mechanism.requests_of_outcomes(n_budgets * request.n_outcomes, request)
    planned_requests.append(
        Part("outcomes", tuple(outcome_mus), times=times, epsilons=mechanism.pure_budget(request))
    )
    if config.covariates.adjusts_first:
        first = regression_request(config, request)
        planned_requests.append(Part("covariates", tuple(first.budget.values()), times=n_budgets))
    if evaluation.metrics == Metrics.CHARGED:
        split_options = {"shares": (1.0,), "accounting": request.accounting}
        planned_requests.append(
            Part(
                "accuracy", split_budget(evaluation.epsilon, request.delta, **split_options), times=n_budgets
            )
        )
    return planned_requests


def regression_request(config: "StudyConfig", request: PrivacyRequest) -> CovariateRequest:
    """Return the terms of the regression on covariates that comes before a request."""
    n_covariates = covariate_terms(config.covariates)["n_covariates"]
    return covariate_request(request, n_covariates=n_covariates, settings=config)


def _identity(planned: Part, config: "StudyConfig", request: PrivacyRequest) -> dict[str, Any]:
    """Return the public identity of a part as far as it is known before a run; outcomes are numbered."""
    mechanism = mechanism_of(config.methods[0])
    if planned.kind == "covariates":
        mechanism, request = mechanism_named(REGRESSION), regression_request(config, request)
    numbered_part = _numbered(planned.kind, mechanism, request)
    # An accuracy does not depend on how sums were drawn, but on weights.
    drawn_before = {} if planned.kind == "accuracy" else mechanism.drawn_before(request)
    mechanism_terms = {"mechanism": mechanism.name, "drawn_before": drawn_before}
    identity = identify_part(public_identity(config), "", request, numbered_part, **mechanism_terms)
    if planned.kind == "accuracy":
        bound = config.evaluation.residual_bound or config.outcomes.bound
        weights = fit_identity(fit_settings(config))
        identity = identify_accuracy(identity, residual_bound=bound, weights=weights)
    draws = [
        {
            "family": request.choices.family,
            "epsilon": exact_text(epsilon),
            "n_choices": request.choices.n_choices,
        }
        for epsilon in planned.epsilons
    ]
    draws += [{"family": GaussianEvent.family}] * len(planned.mus)
    return identity | {"version": MECHANISM_VERSION, "draws": draws}


def _numbered(kind: str, mechanism: "SharedStatistics", request: PrivacyRequest) -> tuple[str, ...]:
    """Return a part with as many numbers as its identity has names of outcomes."""
    names = tuple(map(str, range(request.n_outcomes)))
    if kind == "genotypes":
        return (kind,)
    if kind in ("accuracy", "covariates"):
        return ("outcomes", *names)
    n_own = len(names) // mechanism.requests_of_outcomes(len(names), request)
    return mechanism.depends_on((kind, *names[:n_own]), names, request)


def _replayed(earlier: Request, planned_requests: Mapping[str, Part], **changes: Any) -> str | None:
    """Return the key of the planned request that a request of the ledger is, with changes to its identity.

    None if it is none of the planned ones.
    """
    key = _as_known(earlier.identity | changes, earlier.account)
    return key if key in planned_requests and _is_by(earlier, planned_requests[key].mus) else None


def _is_by(earlier: Request, mus: Sequence[float]) -> bool:
    """Return whether the normal noise of a request of the ledger has these budgets, one a draw."""
    draws = [draw for draw in earlier.identity.get("draws", []) if draw["family"] == GaussianEvent.family]
    return [Fraction(draw["sigma"]) for draw in draws] == [
        Fraction(scale_above(float(Fraction(draw["sensitivity"])), share=mu))
        for draw, mu in zip(draws, mus, strict=True)
    ]


def _is_of_map(identity: Mapping[str, Any]) -> bool:
    """Return whether a request is drawn, or its weights are fitted, along a public map of the genome."""
    methods = [name for name in METHODS if METHODS[name].takes_map]
    is_drawn = identity["mechanism"] in {mechanism_of(name).name for name in methods}
    return is_drawn or identity.get("weights", {}).get("method") in methods


def _mu(draw: Mapping[str, str]) -> Fraction:
    """Return the mu of a draw of normal noise in a ledger; sigma is rounded up."""
    return Fraction(draw["sensitivity"]) / Fraction(draw["sigma"])


def _as_known(identity: Mapping[str, Any], account: Account) -> str:
    """Digest the terms of a request that are known before its run; of names, only their number.

    `_is_by` compares normal noise by its share of the budget.
    """
    fields = {name: value for name, value in identity.items() if name not in FOUND_LATER}
    of_draw = ("family", "epsilon", "n_choices")
    fields["draws"] = [[draw.get(name) for name in of_draw] for draw in identity.get("draws", [])]
    if identity["mechanism"] == REGRESSION:
        fields["row_norm"] = identity.get("row_norm")  # no sites are needed for it
    if "outcomes" in fields:
        fields["outcomes"] = fields["outcomes"] | {"names": len(fields["outcomes"]["names"])}
        # The norm is the largest row of public outcomes, or the best clip by a public map.
        if account.protection == Protection.FEATURE or _is_of_map(identity):
            fields["outcomes"].pop("norm", None)
    if "weights" in fields:
        later = ("statistics", "ld", "effects", "effect_names")
        fields["weights"] = {name: value for name, value in fields["weights"].items() if name not in later}
    return digest([str(account), fields])
