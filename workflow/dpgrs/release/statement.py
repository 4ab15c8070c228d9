"""The privacy statement: all that a reader must know to judge a release, for programs.

Every number of the accounting is decimal text, exact or rounded to the safe side, so that a reader can check
the claims with exact arithmetic and two replays give the same bytes. Times, hosts and paths have no place.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.accounting.exact_numbers import root_above, text_above, text_below
from dpgrs.release.mechanisms import DIGITS, describe_draws
from dpgrs.release.odds import CHANCE_DIGITS, describe_profile, with_chance
from dpgrs.statement.conditions import conditions_of
from dpgrs.statement.content import Curation, PublicInput, StatementContent, Total
from dpgrs.statement.guarantee import words_of
from dpgrs.statement.schema import FORMAT, FORMAT_VERSION, REQUIRED_INPUTS, validate
from dpgrs.statement.words import (
    NOT_PROTECTED,
    NOT_PROTECTED_UNDER,
    PUBLIC_SIDE,
    RANDOMNESS,
    RELEASE_TYPE,
    SUBGROUPS,
    TRUST_MODEL,
    decimal_text,
)
from dpgrs.types import Metrics, Protection, Unit

if TYPE_CHECKING:
    from dpgrs.privacy.ledger.entries import Account
    from dpgrs.privacy.ledger.ledger import Book


def ledger_standing(book: "Book", account: "Account", request_ids: Sequence[str]) -> dict[str, Any]:
    """Say where a dataset's budget stands right after a release; later releases do not change the answer.

    The result is the section ``ledger`` of a statement. A DpgrsError says that the ledger does not hold one
    of the requests, or nothing was requested.
    """
    order = {request_id: rank for rank, request_id in enumerate(book.requests)}
    unknown = sorted(set(request_ids) - order.keys())
    if unknown or not request_ids:
        raise DpgrsError(
            "ledger-without-requests",
            "The ledger must hold every request of a release, at least one, but lacks "
            f"{', '.join(unknown) or 'any'}. Name the ledger that was charged.",
        )
    last = max(request_ids, key=order.get)
    counted = list(book.requests.values())[: order[last] + 1]
    costs = [request.cost.for_group(request.account.steps_between(account)) for request in counted]
    spent, budget = sum(costs, Cost()), book.budgets[account]
    epsilon = text_above(budget.epsilon(spent), digits=DIGITS)
    return {
        "account": str(account),
        "head": last,
        "delta": budget.delta,
        "spent": {
            "mu_squared": text_above(spent.mu_squared, digits=DIGITS),
            "pure_epsilon": text_above(spent.pure_epsilon, digits=DIGITS),
            "epsilon": epsilon,
            "chance": text_above(spent.odds_chance(Fraction(epsilon)), digits=CHANCE_DIGITS),
            "right_guesses": str(spent.right_guesses),
        },
        "remaining": {
            name: text_below(getattr(budget.limit, name) - getattr(spent, name), digits=DIGITS)
            for name in ("mu_squared", "pure_epsilon")
        },
        "limit": {
            name: text_below(getattr(budget.limit, name), digits=DIGITS)
            for name in ("mu_squared", "pure_epsilon")
        },
    }


def build_statement(content: StatementContent) -> dict[str, Any]:
    """Put a statement together, a dict ready for JSON; the bundle adds the digests of the released files.

    A UsageError says that a public input lacks its origin, or the result does not fit the schema.
    """
    privacy_terms = content.terms.as_text()
    protected = Protection(privacy_terms["protection"]).of_unit(has_covariates=content.has_covariates)
    mechanisms, costs = describe_draws(content.events)
    cost = sum(costs, Cost())
    _require_inputs(content.public_inputs, privacy_terms["protection"])
    promised = with_chance({name: privacy_terms[name] for name in ("epsilon", "delta")}, [cost])
    rows_lost = cost if content.terms.unit == Unit.PERSON else cost.for_group(2)
    person = with_chance(_person(content).as_text(), [rows_lost])
    guarantee = privacy_terms | promised | {"person": person}
    inputs = [asdict(public) for public in content.public_inputs]
    words = words_of(guarantee, mechanisms, inputs, protected=protected)
    statement = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "method": content.method,
        "fit": dict(content.fit),
        "software": {"name": "dpgrs", "version": content.version, "commit": content.commit},
        "curation": _curation(content.curation),
        "dataset": dict(content.dataset),
        "guarantee": privacy_terms
        | promised
        | {
            "mu": text_above(Fraction(root_above(cost.mu_squared)), digits=DIGITS),
            **({"pure_epsilon": text_above(cost.pure_epsilon, digits=DIGITS)} if cost.pure_epsilon else {}),
            "definition": words["definition"],
            "contribution": words["contribution"],
            "person": person,
            "plain_language": words["plain_language"],
        },
        "profile": describe_profile(cost, privacy_terms["epsilon"]),
        "assumptions": words["assumptions"],
        "conditions": [],
        "data_domain": {
            "genome_build": content.genome_build,
            "n_variants": int(content.n_variants),
            "site_digest": content.site_digest,
            "outcomes": list(content.outcomes),
            **({"missing_outcomes": str(content.missing_outcomes)} if content.missing_outcomes else {}),
        },
        **({"case_counts": list(content.case_counts)} if content.case_counts else {}),
        "public_inputs": inputs,
        "mechanisms": mechanisms,
        "composition": {
            "theorem": words["theorem"],
            "per_outcome": with_chance(
                content.per_outcome.as_text(),
                [cost] if content.is_joined else _costs_of_outcomes(mechanisms, costs),
            ),
            "whole_study": with_chance(content.whole_study.as_text(), [cost]),
        },
        "ledger": dict(content.ledger),
        "post_processing": list(content.post_processing),
        "preprocessing": list(content.preprocessing),
        "randomness": RANDOMNESS,
        "trust_model": TRUST_MODEL,
        "release_type": RELEASE_TYPE,
        "expected_noise_sd": None if content.expected_noise_sd is None else float(content.expected_noise_sd),
        "accuracy": str(content.accuracy) if content.accuracy == Metrics.WITHHELD else list(content.accuracy),
        "subgroups": SUBGROUPS,
        "audit": content.audit,
        "not_protected": [*NOT_PROTECTED_UNDER[Protection(privacy_terms["protection"])], *NOT_PROTECTED],
        "scores": [],
        "files": {},
    }
    statement["conditions"] = conditions_of(statement)
    validate(statement)
    return statement


def _curation(curation: Curation) -> dict[str, Any]:
    """Return what the curator says, without the optional fields that are empty."""
    fields, optional = (
        asdict(curation) | {"traits": list(curation.traits)},
        ("acknowledgement", "beyond_20", "traits"),
    )
    return {name: value for name, value in fields.items() if value or name not in optional}


def _costs_of_outcomes(mechanisms: list[dict[str, Any]], costs: list[Cost]) -> list[Cost]:
    """Return the cost of each outcome that has its own draws; if none has, the cost of the shared draws."""
    by_owner = defaultdict(Cost)
    for mechanism, cost in zip(mechanisms, costs, strict=True):
        by_owner[mechanism["outcome"]] += cost
    shared = by_owner.pop(None, Cost())
    return [shared + owner_cost for owner_cost in by_owner.values()] or [shared]


def _person(content: StatementContent) -> Total:
    """Return what a person loses: as much as the unit, or as a group of two haplotypes."""
    epsilon, delta = Decimal(decimal_text(content.terms.epsilon)), Decimal(decimal_text(content.terms.delta))
    if content.terms.unit == Unit.PERSON:
        return Total(str(epsilon), str(delta))
    if content.person is not None:
        return content.person
    up = Context(prec=DIGITS, rounding=ROUND_CEILING)
    group_delta = up.multiply(up.add(1, up.next_plus(up.exp(epsilon))), delta)
    return Total(str(2 * epsilon), str(min(group_delta, Decimal(1))))


def _require_inputs(public_inputs: Sequence[PublicInput], protection: str) -> None:
    """Refuse inputs without an origin, and the lack of one that every release has."""
    required = {*REQUIRED_INPUTS, *filter(None, [PUBLIC_SIDE.get(protection)])}
    missing = required - {public.name for public in public_inputs}
    nameless = {public.name for public in public_inputs if not public.origin.strip()}
    if missing or nameless:
        raise UsageError(
            "input-without-origin",
            f"The statement must name the origin of: {', '.join(sorted(missing | nameless))}. "
            "State where each comes from; nothing public may come from the private data.",
        )
