"""The privacy statement: all that a reader must know to judge a release, for programs.

Every number of the accounting is decimal text, exact or rounded to the safe side, so that a reader can check
the claims with exact arithmetic and two replays give the same bytes. Times, hosts and paths have no place.
"""

import textwrap
from collections import defaultdict
from dataclasses import asdict
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.fit_keys import FIT_KEYS
from dpgrs.privacy.accounting.exact_numbers import root_above, text_above, text_below
from dpgrs.privacy.ledger.entries import Cost
from dpgrs.statement.conditions import (
    CHECKED_FILES,
    DOSAGES_INPUT,
    FIXED_SITES_INPUT,
    conditions_of,
)
from dpgrs.statement.content import (
    ASSUMED_OF,
    ASSUMPTIONS,
    BOTH_THEOREM,
    NOT_PROTECTED,
    NOT_PROTECTED_UNDER,
    OF_FIXED_DOSAGES,
    OF_FIXED_SITES,
    PUBLIC_SIDE,
    PURE_THEOREM,
    RANDOMNESS,
    RELEASE_TYPE,
    ROWS_OF_A_PERSON,
    SUBGROUPS,
    THEOREM,
    TRUST_MODEL,
    Total,
    decimal_text,
)
from dpgrs.statement.mechanisms import DIGITS, GAUSSIAN, describe_draws
from dpgrs.statement.odds import CHANCE_DIGITS, describe_profile, plain_line, with_chance
from dpgrs.types import Metrics, Neighbours, Protection, Rows, Unit

SCHEMA = Path(__file__).parents[1] / "schemas/privacy_statement.schema.yaml"
FORMAT, FORMAT_VERSION = "dpgrs privacy statement", 4

# What every release rests on; each is named with its origin.
REQUIRED_INPUTS = (
    *("site list", "allele frequencies", "outcome bound", "number of rows", "seed"),
    CHECKED_FILES,
)


def ledger_standing(book, account, request_ids):
    """Say where a dataset's budget stands right after a release; later releases do not change the answer.

    Parameters
    ----------
    book : Book of the dataset's ledger.
    account : Account that the release is charged to.
    request_ids : the release's requests.

    Returns
    -------
    dict, the section ``ledger`` of a statement.

    Raises
    ------
    DpgrsError
        If the ledger does not hold one of the requests, or nothing was requested.
    """
    order = {request_id: place for place, request_id in enumerate(book.requests)}
    unknown = sorted(set(request_ids) - order.keys())
    if unknown or not request_ids:
        raise DpgrsError(
            "The ledger must hold every request of a release, at least one, but lacks "
            f"{', '.join(unknown) or 'any'}. Name the ledger that was charged."
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


def build_statement(content):
    """Put a statement together; the bundle adds the digests of the released files.

    Parameters
    ----------
    content : StatementContent

    Returns
    -------
    dict, ready for JSON.

    Raises
    ------
    UsageError
        If a public input lacks its origin, or the result does not fit the schema.
    """
    terms = content.terms.as_text()
    protected = Protection(terms["protection"]).of_unit(has_covariates=content.has_covariates)
    mechanisms, costs = describe_draws(content.events)
    cost = sum(costs, Cost())
    _require_inputs(content.public_inputs, terms["protection"])
    promised = with_chance({name: terms[name] for name in ("epsilon", "delta")}, [cost])
    rows_lost = cost if content.terms.unit == Unit.PERSON else cost.for_group(2)
    person = with_chance(_person(content).as_text(), [rows_lost])
    guarantee = terms | promised | {"person": person}
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
        "guarantee": terms
        | promised
        | {
            "mu": text_above(Fraction(root_above(cost.mu_squared)), digits=DIGITS),
            **_pure_part(cost),
            "definition": words["definition"],
            "contribution": words["contribution"],
            "person": person,
            "plain_language": words["plain_language"],
        },
        "profile": describe_profile(cost, terms["epsilon"]),
        "assumptions": words["assumptions"],
        "conditions": [],
        "data_domain": {
            "genome_build": content.genome_build,
            "n_variants": int(content.n_variants),
            "site_digest": content.site_digest,
            "outcomes": list(content.outcomes),
            **_missing(content.missing_outcomes),
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
        "not_protected": [*NOT_PROTECTED_UNDER[Protection(terms["protection"])], *NOT_PROTECTED],
        "scores": [],
        "files": {},
    }
    statement["conditions"] = conditions_of(statement)
    validate(statement)
    return statement


def words_of(guarantee, mechanisms, public_inputs, *, protected):
    """Say in words what follows from the terms and the draws of a release.

    Parameters
    ----------
    guarantee : dict, the section of a statement, as far as it is numbers and terms.
    mechanisms, public_inputs : list of dict, these sections.
    protected : str, from `Protection.of_unit`.

    Returns
    -------
    dict of definition, contribution and plain_language, of that section, of the assumptions and the theorem.
    """
    rows = ROWS_OF_A_PERSON[Rows(guarantee["rows"])]
    return {
        "definition": _definition(guarantee, protected),
        "contribution": f"Under one sample id at one centre a person gives {rows}.",
        "plain_language": plain_line(guarantee, guarantee, guarantee["person"], protected=protected),
        "assumptions": _assumptions(mechanisms, public_inputs),
        "theorem": _theorem(mechanisms),
    }


def problems_of(statement):
    """Return what is wrong with a statement by the schema, a list of str; empty if it fits."""
    errors = sorted(
        _validator().iter_errors(statement), key=lambda error: (list(map(str, error.path)), error.message)
    )
    return [
        f"{error.json_path.removeprefix('$.')}: {textwrap.shorten(error.message, 200)}" for error in errors
    ]


def validate(statement):
    """Check a statement against the schema.

    Raises
    ------
    UsageError
        With all problems, one a line.
    """
    problems = problems_of(statement)
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise UsageError(
            f"The privacy statement must fit {SCHEMA.name}, but\n{lines}\nCorrect these entries."
        )


def _curation(curation):
    """Return what the curator says, without the optional fields that are empty."""
    said, optional = (
        asdict(curation) | {"traits": list(curation.traits)},
        ("acknowledgement", "beyond_20", "traits"),
    )
    return {name: value for name, value in said.items() if value or name not in optional}


def _assumptions(mechanisms, public_inputs):
    """List what the guarantee rests on: always, by what was drawn, and by the files that were read."""
    drawn = {part[name] for part in mechanisms for name in ("statistic", "mechanism")}
    own = dict.fromkeys(said for name, said in ASSUMED_OF.items() if name in drawn)
    inputs = [(public["name"], public["value"]) for public in public_inputs]
    is_fixed = FIXED_SITES_INPUT in inputs
    of_files = {OF_FIXED_SITES: is_fixed, OF_FIXED_DOSAGES: is_fixed and DOSAGES_INPUT in inputs}
    return [*ASSUMPTIONS, *own, *(said for said, holds in of_files.items() if holds)]


def _costs_of_outcomes(mechanisms, costs):
    """Return what each outcome costs that has draws of its own; of others, what serves all."""
    by_owner = defaultdict(Cost)
    for part, cost in zip(mechanisms, costs, strict=True):
        by_owner[part["outcome"]] += cost
    shared = by_owner.pop(None, Cost())
    return [shared + own for own in by_owner.values()] or [shared]


def _missing(missing_outcomes):
    return {} if missing_outcomes is None else {"missing_outcomes": str(missing_outcomes)}


def _pure_part(cost):
    """Return the field of what is lost without a delta, where anything is."""
    if not cost.pure_epsilon:
        return {}
    return {"pure_epsilon": text_above(cost.pure_epsilon, digits=DIGITS)}


def _theorem(mechanisms):
    families = {part["mechanism"] for part in mechanisms}
    gaussian, pure = GAUSSIAN in families, bool(families - {GAUSSIAN})
    said = {THEOREM: gaussian or not pure, PURE_THEOREM: pure, BOTH_THEOREM: gaussian and pure}
    return " ".join(text for text, holds in said.items() if holds)


def _person(content):
    """Return what a person loses: that of the unit, or of a group of two haplotypes."""
    epsilon, delta = Decimal(decimal_text(content.terms.epsilon)), Decimal(decimal_text(content.terms.delta))
    if content.terms.unit == Unit.PERSON:
        return Total(str(epsilon), str(delta))
    if content.person is not None:
        return content.person
    up = Context(prec=DIGITS, rounding=ROUND_CEILING)
    group_delta = up.multiply(up.add(1, up.next_plus(up.exp(epsilon))), delta)
    return Total(str(2 * epsilon), str(min(group_delta, Decimal(1))))


def _definition(terms, protected):
    unit = terms["unit"]
    change = {
        Neighbours.ADD_REMOVE: f"one {unit} is there or not",
        Neighbours.REPLACE_ONE: f"the {protected} of one {unit} are replaced by any others",
    }[Neighbours(terms["neighbours"])]
    return (
        f"({terms['epsilon']}, {terms['delta']})-differential privacy of the {protected} among data sets "
        "that meet the conditions of this release. For any two of these data sets in which "
        f"{change}, and any set of results, the probability of the set under one is at most e^epsilon times "
        "its probability under the other, plus delta. The existence of this release reveals, without noise, "
        "that its data set meets the conditions."
    )


def _require_inputs(public_inputs, protection):
    required = {*REQUIRED_INPUTS, *filter(None, [PUBLIC_SIDE.get(protection)])}
    missing = required - {public.name for public in public_inputs}
    nameless = {public.name for public in public_inputs if not public.origin.strip()}
    if missing or nameless:
        raise UsageError(
            f"The statement must name the origin of: {', '.join(sorted(missing | nameless))}. "
            "State where each comes from; nothing public may come from the private data."
        )


@cache
def definition(name):
    """Return a definition of the schema, a dict that refers to no other; None for the whole schema."""
    schema = yaml.load(SCHEMA.read_text(encoding="utf-8"), yaml.CSafeLoader)
    fit = schema["properties"]["fit"]
    fit["properties"] |= {name: key.schema for name, key in FIT_KEYS.items()}
    fit["required"] = [name for name, key in FIT_KEYS.items() if not key.absent]
    return _inlined(schema if name is None else schema["$defs"][name], schema["$defs"])


@cache
def _validator():
    return Draft202012Validator(definition(None))


def _inlined(part, definitions):
    """Put definitions in the place of references, to find which takes half of the time of a check."""
    if isinstance(part, list):
        return [_inlined(one, definitions) for one in part]
    if not isinstance(part, dict):
        return part
    own = {name: _inlined(one, definitions) for name, one in part.items() if name not in ("$ref", "$defs")}
    if "$ref" not in part:
        return own
    # A test holds that no keyword stands both beside a reference and in its definition.
    return _inlined(definitions[part["$ref"].removeprefix("#/$defs/")], definitions) | own
