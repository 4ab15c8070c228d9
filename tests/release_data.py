"""A small release: scores of three outcomes on eight sites, its charged events, statement and bundle."""

from dataclasses import replace

import numpy as np
import pandas as pd

from dpgrs.evaluation.private_metrics import SQUARE_STEP
from dpgrs.methods.registry import METHODS
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.privacy.sensitivity import (
    accuracy_sensitivity,
    count_sensitivity,
    cross_sensitivity,
    gram_sensitivity,
)
from dpgrs.release.bundle import write_bundle
from dpgrs.release.constants import reference_sums
from dpgrs.release.pgs_catalog import Constants, Scores, site_digest
from dpgrs.release.statement import build_statement, ledger_standing
from dpgrs.statement.conditions import CHECKED_FILES, CHECKS, LEAST_SHARE
from dpgrs.statement.content import Curation, PublicInput, StatementContent, Terms, Total
from dpgrs.statement.post_processing import post_processing
from dpgrs.statement.words import ORIGIN_OF_ROWS, ROWS_INPUT
from dpgrs.verify.input_check import INPUTS
from ledger_requests import DATASET, new_ledger, reserve

OUTCOMES = ("height", "LDL/HDL = ratio", "größe")
SITES = pd.DataFrame(
    [
        ("chrX", 5, "A", "G", "."),
        ("22", 300, "C", "T", "rs77"),
        ("22", 200, "A", "G", "."),
        ("22", 200, "A", "C", "rs12"),
        ("3", 9_000_000, "GAT", "G", "ss5"),
        ("21", 10, "T", "TA", "."),
        ("3", 20, "G", "C", "rs9;rs10"),
        ("10", 1, "C", "A", "rs1"),
    ],
    columns=["contig", "position", "ref", "alt", "id"],
)
STATISTICS = {"count": "count", "gram": "gram", "cross": "cross product"}
CURATION = Curation(
    title="Height and lipids in a test cohort",
    curator="Institute of Tests",
    intended_use="Research on genomic risk scores.",
    data_use_terms="Do not try to find out who took part.",
    license="CC BY 4.0",
    citation="Institute of Tests (2026). doi:10.1/x?id=1",
    region="Germany",
    publication_date="2026-11-21",
)
# Of the third outcome nothing is said.
TRAITS = (
    {
        "outcome": "height",
        "reported_trait": "Body height",
        "efo_ids": ["OBA_VT0001253"],
        "mapped_traits": ["body height"],
        "cohorts": ["UKB"],
        "ancestry": "European",
        "countries": ["U.K."],
        "doi": "10.1038/s41586-018-0579-z",
    },
    {"outcome": "LDL/HDL = ratio", "efo_ids": ["EFO_0004611", "EFO_0004612"]},
)
PROVENANCE = {
    "study": "demo",
    "mode": "release",
    "finished": "2026-11-21T10:00:00+00:00",
    "host": "secret-host",
    "command": "snakemake --cores 1 /home/someone/study",
    "dpgrs": "0.1",
    "commit": "0" * 40,
    "code_digest": "1" * 16,
    "python": "3.12.1",
    "libraries": {"numpy": "2.4.0"},
    "settings_digest": "2" * 64,
    "settings": {"cohort": {"vcf": "/home/someone/x.vcf.gz"}},
}


def make_scores(**changed):
    rng, n_outcomes = np.random.Generator(np.random.PCG64(3)), len(changed.get("outcomes", OUTCOMES))
    weights = rng.normal(size=(len(OUTCOMES), len(SITES))) * 10.0 ** rng.integers(-9, 3, size=len(SITES))
    weights[0, :3] = -0.0, 1e-300, 123456789012345680.0
    fields = {
        "outcomes": OUTCOMES,
        "sites": SITES,
        "weights": weights,
        "constants": Constants(*np.resize([[-0.5, 1e-7, 3], [-0.25, 5e-8, 1.5]], (2, n_outcomes))),
        "genome_build": "GRCh38",
        "terms": make_terms(),
        "source": "release",
    }
    return Scores(**(fields | changed))


def make_terms(**changed):
    fields = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "protection": "full",
        "unit": "haplotype",
        "neighbours": "add-remove",
        "accounting": "gdp",
        "rows": "haplotypes",
    }
    return Terms(**(fields | changed))


CHARGED = {"residual bound": "3", "people held out": "a share of 0.5"}
FIT = {"lambda": 0.2, "lambda_from": "fixed", "heritability": None, "joint_projection": False}


def make_events(terms, *, source="release", n_outcomes=3):
    """Return the events of `private_statistics`, drawn by nobody."""
    named = {
        name: getattr(terms, name)
        for name in ("epsilon", "delta", "accounting", "unit", "neighbours", "rows")
    }
    request = PrivacyRequest(
        n_variants=len(SITES), n_outcomes=n_outcomes, outcome_bound=3.0, gram_share=0.5, **named
    )
    products = cross_sensitivity(len(SITES), n_outcomes, outcome_bound=3.0, **request.relation)
    n_pairs = len(SITES) * (len(SITES) + (3 if terms.rows == "people" else 1)) // 2
    claims = {
        "gram": (gram_sensitivity(len(SITES), **request.relation), 0.25, n_pairs),
        "cross": (products, 2.0**-17, n_outcomes * len(SITES)),
    }
    if request.has_private_count:
        claims = {"count": (count_sensitivity(**request.relation), 1.0, 1)} | claims
    return [
        replace(
            BenchmarkNoise(1).gaussian(
                np.zeros(entries, dtype=np.int64),
                name=STATISTICS[name],
                step=step,
                sensitivity=claim,
                mu=request.budget[name],
            )[1],
            source=source,
        )
        for name, (claim, step, entries) in claims.items()
    ]


def make_accuracy_event(terms, *, n_outcomes):
    """Return the event of accuracy within the bounds of `CHARGED`, as lossy as X'Y, drawn by nobody."""
    *_, cross = make_events(terms, n_outcomes=n_outcomes)
    relation = {name: getattr(terms, name) for name in ("rows", "neighbours", "unit")}
    claim = accuracy_sensitivity(n_outcomes, outcome_bound=3.0, residual_bound=3.0, **relation)
    sigma = cross.sigma * claim.value / cross.sensitivity.value
    terms = {"sensitivity": claim, "sigma": sigma, "mu": claim.value / sigma, "entries": 3 * n_outcomes}
    terms["step"] = SQUARE_STEP
    return replace(cross, statistic="accuracy", **terms)


def make_content(folder, terms=None, *, drawn=None, **changed):
    """Charge events to a new ledger and say all that the statement needs.

    `drawn` are pairs of an event and the outcome that it serves, None for all; default: those of
    `make_events`.
    """
    terms = terms or make_terms()
    n_outcomes = len(changed.get("outcomes") or OUTCOMES)
    drawn = drawn or [(event, None) for event in make_events(terms, n_outcomes=n_outcomes)]
    account = Account(terms.protection, terms.unit, terms.neighbours)
    pure = exact_text(4 * sum(event.cost.pure_epsilon for event, _ in drawn))
    ledger = new_ledger(folder, account=account, mu_squared="100", pure_epsilon=pure)
    reserve(ledger, mu="0.125", account=account, shape=["an earlier study"])
    charges = [event.charge for event, _ in drawn]
    request_id = reserve(ledger, charges=charges, account=account)
    inputs = {
        "site list": site_digest(SITES),
        "allele frequencies": "in the site list",
        "outcome bound": "3",
        "number of rows": "5008",
        "seed": "1",
        "outcome names": str(n_outcomes),
        CHECKED_FILES: "genotypes, table of outcomes",
        CHECKS: "people, values, scale, binary",
        LEAST_SHARE: "0.5",
    }
    if (missing := changed.get("missing_outcomes", "none")) is not None:
        inputs["whether outcomes may be missing"] = missing
    if "lambda" in METHODS[changed.get("method", "reusecov-gauss")].reads:
        inputs["lambda"] = "0.2"
    if (heritability := changed.get("fit", FIT)["heritability"]) is not None:
        inputs["heritability"] = f"{heritability:g}"
    if "accuracy" in changed:
        is_charged = any(event.statistic == "accuracy" for event, _ in drawn)
        inputs |= CHARGED if is_charged else {"people measured on, with their outcomes": "simulated"}
    if chosen := {str(event.n_choices) for event, _ in drawn if hasattr(event, "n_choices")}:
        (inputs["variants to choose for an outcome"],) = chosen
    fields = {
        "version": PROVENANCE["dpgrs"],
        "commit": PROVENANCE["commit"],
        "curation": CURATION,
        "dataset": DATASET | {"dataset_version": "v1"},
        "genome_build": "GRCh38",
        "n_variants": len(SITES),
        "site_digest": site_digest(SITES),
        "outcomes": OUTCOMES,
        "terms": terms,
        "events": tuple(
            event.as_dict() | {"request": request_id, "outcome": outcome} for event, outcome in drawn
        ),
        "per_outcome": Total(terms.epsilon, terms.delta),
        "whole_study": Total(terms.epsilon, terms.delta),
        "ledger": ledger_standing(ledger.read(), account, [request_id]),
        "public_inputs": as_written(
            (PublicInput(name, value, "a public panel") for name, value in inputs.items()),
            neighbours=terms.neighbours,
        ),
        "method": "reusecov-gauss",
        "fit": FIT,
        "missing_outcomes": "none",
        "expected_noise_sd": 0.01,
    }
    fields |= changed
    known = {"protection": fields["terms"].protection, "missing_outcomes": fields["missing_outcomes"]}
    known["has_accuracy"] = any(event.statistic == "accuracy" for event, _ in drawn)
    said = post_processing(fields["method"], fields["fit"], **known)
    return StatementContent(**({"post_processing": tuple(said)} | fields))


def as_written(inputs, *, neighbours="add-remove"):
    """Return public inputs in the order and with the origins that a release has."""
    origins = {name: origin for name, (_, origin) in INPUTS.items() if origin}
    origins[ROWS_INPUT] = ORIGIN_OF_ROWS[neighbours]
    named = [replace(public, origin=origins.get(public.name, public.origin)) for public in inputs]
    return tuple(sorted(named, key=lambda public: [*INPUTS, public.name].index(public.name)))


def make_statement(folder, terms=None, **changed):
    return build_statement(make_content(folder, terms, **changed))


def make_bundle(folder, *, terms=None, content=(), tables=(), sums=None, **changed):
    """Write a bundle into ``folder/release`` and return its path; standard errors are those of BLUP.

    `tables` are further ones of `write_bundle`.
    """
    terms = terms or make_terms()
    if "standard_errors" in changed:
        content = {"method": "blup", "fit": FIT | {"heritability": 0.5}} | dict(content)
    content = dict(content)
    if "public_inputs" in content:
        content["public_inputs"] = as_written(content["public_inputs"], neighbours=terms.neighbours)
    scores, statement = make_scores(terms=terms, **changed), make_statement(folder, terms, **content)
    files = {"scores": scores, "statement": statement, "provenance": PROVENANCE, "sums": sums}
    write_bundle(folder / "release", **files, **dict(tables))
    return folder / "release"


def make_measured_bundle(folder, *, content=(), **changed):
    """Write a bundle of people as rows, whose accuracy was measured on 40 public people."""
    rng = np.random.Generator(np.random.PCG64(7))
    constants = np.array([-0.5, 2.25, 0.0])
    scores = rng.normal(-constants[:, np.newaxis], 0.7, (3, 40))
    Y = scores + constants[:, np.newaxis] + rng.normal(0, 0.7, scores.shape)
    Y[1, :10] = np.nan
    residuals = Y - scores - constants[:, np.newaxis]
    mse, variance = np.nanmean(residuals**2, axis=1), np.nanmean(Y**2, axis=1)
    accuracy = [
        {
            "name": name,
            "value": f"R^2 {1 - error / whole:.4f}, mean squared error {error:.4f}",
            "cost": f"none, measured on {n_people} people of the public reference",
        }
        for name, error, whole, n_people in zip(
            OUTCOMES, mse, variance, np.isfinite(Y).sum(axis=1), strict=True
        )
    ]
    return make_bundle(
        folder,
        terms=make_terms(rows="people", unit="person"),
        content={"accuracy": accuracy} | dict(content),
        sums=reference_sums(Y, scores),
        constants=Constants(constants),
        **changed,
    )


def make_charged_bundle(folder, *, content=()):
    """Write a bundle whose outcomes have budgets of their own, and its accuracy draws, too."""
    *shared, cross = make_events(make_terms(), n_outcomes=1)
    drawn = [(event, None) for event in shared]
    accuracy = make_accuracy_event(make_terms(), n_outcomes=1)
    for event in (cross, accuracy):
        drawn += [(event, name) for name in OUTCOMES]
    cost = "epsilon 0.7 at delta 0.000001, for each outcome alone"
    value = "R^2 0.1000 with noise of standard deviation 0.0100, mean squared error 0.9000 with 0.0100"
    accuracy = [{"name": name, "value": value, "cost": cost} for name in OUTCOMES]
    accuracy[1]["value"] = "withheld: the noise drowns it"
    content = {"drawn": drawn, "per_outcome": Total(1.5, 1e-6), "accuracy": accuracy} | dict(content)
    return make_bundle(folder, terms=make_terms(epsilon=3.0), content=content)
