"""A small study as the report sees it; weights are simulated, R^2 falls with the noise as in real runs."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from dpgrs.public_random import generator
from dpgrs.reporting.data import Choice, ChoiceRow, FitWeights, ReportData, Screening, StudyInfo

NASTY_NAME = '<script>alert("x")</script> & $µ$'
POPULATIONS = ("AFR", "EUR", "O'Neill & <Co>")
PRIVATE = [
    ("reusecov-gauss", "full", "add-remove", "haplotype", accounting) for accounting in ("gdp", "paper")
]
# Every method under every protection that it has.
GRID = [
    (method, protection, "add-remove" if protection == "full" else "replace-one", "haplotype", "gdp")
    for protection, methods in {
        "full": ("reusecov-gauss", "reusecov-ellipsoid", "blup", "naive", "adassp", "dp-sgd"),
        "feature": ("reusecov-gauss", "reusecov-proj", "blup"),
        "label": ("reusecov-gauss", "reusecov-proj", "blup"),
    }.items()
    for method in methods
]
SCREENED = [(method, "full", "add-remove", "haplotype", "gdp") for method in ("k-blup", "k-tukey")]
EXACT = [("gram", ""), ("statistics", ""), ("weights", "ols")]
NOISY = [("gram", ""), ("statistics", ""), ("weights", "reusecov-gauss")]
# Options of a study of one design, replicate and epsilon, for pages whose figures do not matter.
ONE_DESIGN = {"n_outcomes": 3, "outcome_counts": (3,), "replicates": 1, "epsilons": (1.0,)}
TERM_COLUMNS = ("method", "protection", "neighbours", "unit", "accounting")


def make_report_data(
    *,
    n_outcomes=4,
    n_variants=24,
    replicates=2,
    epsilons=(1.0, 4.0, 16.0),
    chromosomes=("1", "2"),
    is_simulated=True,
    has_populations=True,
    private=PRIVATE,
    outcome_counts=None,
    **study,
):
    """Make a `ReportData`; keyword arguments beyond the named ones replace fields of its `StudyInfo`."""
    random = generator(7, "report")
    variant_counts = (n_variants // 2, n_variants)
    outcome_counts = outcome_counts or tuple(sorted({1, n_outcomes}))
    outcomes = (NASTY_NAME, *(f"simulated_{i:04d}" for i in range(2, n_outcomes + 1)))
    effects = random.normal(size=(n_outcomes, n_variants)) * (random.random((n_outcomes, n_variants)) < 0.2)
    fits = [(method, "none", "", "", "", np.nan) for method in ("ols", "gblup")]
    fits += [(*terms, epsilon) for terms in private for epsilon in epsilons]
    shape = (replicates, len(variant_counts), len(outcome_counts))
    metrics = pd.DataFrame(
        row
        for replicate, size, count in np.ndindex(*shape)
        for row in _metrics_rows(
            random, replicate + 1, variant_counts[size], outcomes[: outcome_counts[count]], fits, n_variants
        )
    )
    return ReportData(
        study=StudyInfo(
            **{
                "name": "demo",
                "n_people": 250,
                "n_rows": 500,
                "rows": "haplotypes",
                "variant_counts": variant_counts,
                "outcome_counts": outcome_counts,
                "replicates": replicates,
                "source": "simulated under the model OutOfAfrica_3G09",
                "chromosomes": tuple(chromosomes),
                "heritability": 0.5 if is_simulated else None,
                "outcome_bound": 3.0,
                "delta": 1e-6,
                "penalty": 0.01,
                "penalty_rule": "fixed",
                "test_share": 0.2,
                "stated_heritability": None,
                "is_joint": False,
                "bounds": "worst-case",
                "genotype_clip": 1.0,
                "outcome_clip": 1.05,
                "outcome_budget": "joint",
                "seed": 1,
            }
            | study
        ),
        outcomes=outcomes,
        metrics=metrics,
        population_metrics=_population_metrics(random, metrics) if has_populations else pd.DataFrame(),
        variants=_variants(random, n_variants, chromosomes),
        weights=[
            FitWeights(
                method,
                protection,
                accounting,
                None if np.isnan(epsilon) else epsilon,
                effects + random.normal(0, _noise(accounting, epsilon), effects.shape),
            )
            for method, protection, _, _, accounting, epsilon in fits
        ],
        effects=effects if is_simulated else None,
    )


def make_attacks():
    """Make a table of two replicates, two designs and both targets, each row with its own advantage."""
    fits = [(attack, method, "none", "", np.nan) for attack, method in EXACT]
    fits += [(attack, method, "full", "gdp", epsilon) for epsilon in (5.0, 1.0) for attack, method in NOISY]
    cells = product((1, 2), ((12, 1), (24, 4)), fits, ("haplotype", "person"))
    records = []
    for place, (replicate, (n_variants, n_outcomes), fit, target) in enumerate(cells):
        advantage = place / 1000
        records.append(
            dict(zip(("attack", "method", "protection", "accounting", "epsilon"), fit, strict=True))
            | {"replicate": replicate, "n_variants": n_variants, "n_outcomes": n_outcomes, "target": target}
            | {"n_members": 200, "n_others": 50, "n_reference": 50, "fpr": 0.02, "tpr": 0.03, "auc": 0.6}
            | {"advantage": advantage, "advantage_low": advantage - 0.1, "advantage_high": advantage + 0.1}
            | {"advantage_bound": np.nan if fit[2] == "none" else fit[4] / 10}
        )
    return pd.DataFrame(records)


def make_screened_data(*, n_choices=3, knows_causal=True, **options):
    """Make a `ReportData` of a study that chooses variants; `k-tukey` has no model of the first outcome."""
    data = make_report_data(private=[*PRIVATE[:1], *SCREENED], **options)
    random = generator(7, "choices")
    epsilons = sorted(data.metrics["epsilon"].dropna().unique().tolist())
    shape = (len(data.outcomes), len(data.variants))
    chosen = random.random((1 + len(epsilons), *shape)).argsort(axis=2)[:, :, :n_choices]
    terms = [("", None), *(("gdp", epsilon) for epsilon in epsilons)]
    row = {"causal": 1.25, "near": 2.25, "found": 1.75, "n_causal": 4.5} if knows_causal else {}
    values = np.where(data.effects != 0, 1.0, random.uniform(0.0, 0.99, shape))
    causal_r2 = [dict(enumerate(own)) for own in values] if knows_causal else None
    is_kept_back = (data.metrics["method"] == "k-tukey") & (data.metrics["outcome"] == data.outcomes[0])
    return replace(
        data,
        metrics=data.metrics.assign(status=np.where(is_kept_back, "check failed", "ok")),
        screening=Screening(
            methods=("k-blup", "k-tukey"),
            share=0.05,
            partner_r2=0.8,
            scores=random.normal(0, 50, shape),
            choices=[Choice(*pair, own) for pair, own in zip(terms, chosen, strict=True)],
            rows=[ChoiceRow(shape[1], shape[0], *pair, 1.5, **row) for pair in terms],
            causal_r2=causal_r2,
        ),
    )


def _metrics_rows(random, replicate, size, outcomes, fits, n_variants):
    nonprivate = {name: 1 - 0.45 * size / n_variants + random.normal(0, 0.02) for name in outcomes}
    for *terms, epsilon in fits:
        private = not np.isnan(epsilon)
        for place, name in enumerate(outcomes):
            loss = (
                _noise(terms[-1], epsilon) * len(outcomes) ** 0.25 * random.uniform(0.8, 1.2)
                if private
                else 0
            )
            mse = nonprivate[name] + 0.4 * loss**2
            yield dict(zip(TERM_COLUMNS, terms, strict=True)) | {
                "replicate": replicate,
                "outcome": name,
                "epsilon": epsilon,
                "delta": 1e-6 if private else np.nan,
                "n_rows": 400,
                "n_variants": size,
                "n_outcomes": len(outcomes),
                "r2": 1 - mse - 0.002 * (terms[0] == "ols") + 0.001 * place,
                "mse": mse,
                "mse_nonprivate": nonprivate[name],
                "seconds": 0.1,
                "status": "ok",
            }


def _noise(accounting, epsilon):
    """Standard deviation of the noise in a weight, a little of it from the finite sample."""
    return 0.15 if np.isnan(epsilon) else 0.15 + {"gdp": 1.0, "paper": 1.8}[accounting] / epsilon


def _population_metrics(random, metrics):
    largest = metrics[metrics["n_variants"] == metrics["n_variants"].max()]
    tables = [
        largest.assign(population=name, r2=largest["r2"] + random.normal(-0.03, 0.03, len(largest)))
        for name in POPULATIONS
    ]
    return pd.concat(tables).drop(columns=["mse", "mse_nonprivate", "seconds", "status"])


def _variants(random, n_variants, chromosomes):
    per_chromosome = np.array_split(np.arange(n_variants), len(chromosomes))
    contigs = np.repeat(chromosomes, [len(part) for part in per_chromosome])
    positions = [np.sort(random.choice(1_000_000, len(part), replace=False)) + 1 for part in per_chromosome]
    return pd.DataFrame(
        {
            "contig": contigs,
            "position": np.concatenate(positions),
            "id": [f"rs{i}" for i in range(n_variants)],
            "ref": "A",
            "alt": "C",
            "frequency": random.uniform(0.01, 0.5, n_variants),
        }
    )
