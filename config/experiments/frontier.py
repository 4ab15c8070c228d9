"""R^2 of methods on parts of the 1000 Genomes Project, each a case with a study of its own, as one table.

Cohort and public reference are people of the same files. Snakemake runs no case again that is done.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator

from dpgrs.io.genotype_files import find_genotype_files, genotype_header
from dpgrs.io.tables.tables import read_populations
from dpgrs.methods.registry import METHODS
from dpgrs.public_random import uniforms
from dpgrs.reporting.svg import INK, new_figure, styled
from dpgrs.study.panel_terms import takes_ld

PROJECT = Path(__file__).resolve().parents[2]
CONFIG = Path(__file__).with_suffix(".yaml")
TABLE = Path("results", "frontier", "table.tsv")
FIGURE = TABLE.with_name("figure.png")
# In the folder of data.
REGION, GENOME = (
    {"source": "vcf", "vcf": "1kg/phase3_chr1_region/chr1_11697036-11836540.vcf.gz", "chromosomes": ["1"]},
    {
        "source": "vcf",
        "vcf": "1kg/phase3_subset/1KG_phase3_subset_chr{chrom}.vcf.gz",
        "chromosomes": [str(number) for number in range(1, 23)],
    },
)
POPULATIONS = "1kg/integrated_call_samples_v3.20130502.ALL.panel"
ADMIXED, WITHOUT_REFERENCE = ("SAS", "AMR"), ["ridge", "blup", "blup-steered", "blup-shared"]
CELL = ["epsilon", "n_variants", "n_outcomes"]


class Case(NamedTuple):
    """A study.

    Attributes
    ----------
    group : str; cases of one group are told apart by their seed, and are one line of the table.
    settings : dict, what differs from the configuration.
    seed : int
    cohort : float, share of the people, the others are the reference; or the super-populations of the cohort;
        None takes all, without a reference.
    reference : super-populations of the reference, where those of the cohort are given.
    genotypes : dict, keys of the section `cohort`.
    """

    group: str
    settings: dict
    seed: int = 1
    cohort: float | tuple | None = 0.5
    reference: tuple = ()
    genotypes: dict = REGION

    @property
    def name(self):
        return f"{self.group}-{self.seed}"

    @property
    def study(self):
        return f"frontier-{self.name}".replace(".", "_")


def outcomes(*count, **terms):
    return {"outcomes": terms | {"count": list(count)}}


# What the PRIMO paper does under full protection, on the same people.
PAPER = {
    "methods": ["ridge", "reusecov-gauss", "reusecov-ellipsoid"],
    "privacy": {"bounds": "worst-case", "accounting": "paper", "gram_share": 0.5},
    "regression": {"lambda": 0.1},
}
LARGE = outcomes(10) | {"panel": {"size": [400]}}
CASES = [
    *(Case("matched", {}, seed) for seed in (1, 2, 3)),
    *(Case("paper", PAPER, seed) for seed in (1, 2, 3)),
    # Some 2,400 training rows in place of 2,000: of more people, so that fewer are left for the panel, or of
    # the same with few to test on.
    *(Case("more-people", LARGE, seed, cohort=0.6) for seed in (1, 2, 3)),
    *(
        Case("more-rows", {**LARGE, "trials": 4, "outcomes": {"count": [10], "test_share": 0.04}}, seed)
        for seed in range(1, 5)
    ),
    Case("person", {"privacy": {"unit": "person"}}),
    # Single outcomes, which differ most, by six seeds, or by 21 where a difference was small.
    *(
        Case(f"panel-{name}", {} if seed == 1 else outcomes(1), seed, cohort=ADMIXED, reference=(name,))
        for name, seeds in (("EUR", 6), ("EAS", 6), ("AFR", 21))
        for seed in range(1, seeds + 1)
    ),
    Case("factors", outcomes(100, 1000, factors=10)),
    *(
        Case(f"prevalence-{p:g}", outcomes(1, 10, prevalence=p), seed)
        for p, seeds in ((0.05, 12), (0.5, 4))
        for seed in range(1, seeds + 1)
    ),
    *(
        Case(f"heritability-{h2:g}", outcomes(*((1, 10, 100) if seed <= 6 else (1,)), heritability=h2), seed)
        for h2, seeds in ((0.0, 1), (0.1, 22), (0.8, 3))
        for seed in range(1, seeds + 1)
    ),
    Case("genome", outcomes(10) | {"panel": {"size": [400, 1000]}}, cohort=0.75, genotypes=GENOME),
    Case("all-people", {"methods": WITHOUT_REFERENCE}, cohort=None),
    Case("all-people-factors", {"methods": WITHOUT_REFERENCE} | outcomes(100, 1000, factors=10), cohort=None),
]

# R^2 by independent code, by group, epsilon, variants and outcomes.
REFERENCE = {
    ("matched", 1, 400, 1): "blup .235, blup-ld .351",
    ("matched", 1, 400, 10): "blup .207, blup-ld .316",
    ("matched", 1, 400, 100): "blup .109, blup-ld .208",
    ("matched", 5, 400, 10): "blup .367, blup-ld .397",
    ("matched", 5, 400, 1000): "blup .204, blup-ld .245",
    ("more-people", 1, 400, 10): "blup-ld .345",
    ("more-rows", 1, 400, 10): "blup-ld .345",
    ("panel-EUR", 5, 400, 10): "blup .31, blup-ld .28",
    ("panel-EAS", 5, 400, 10): "blup .31, blup-ld .23",
    ("panel-AFR", 5, 400, 10): "blup .31, blup-ld .14",
    ("all-people", 1, 100, 1000): "blup .157, blup-steered .179",
    ("all-people", 1, 400, 1000): "blup .102, blup-steered .134",
    ("all-people", 5, 400, 1000): "blup .287, blup-steered .304",
    ("all-people-factors", 1, 100, 1000): "blup .185, blup-shared .211",
    ("all-people-factors", 5, 100, 100): "blup .424, blup-shared .456",
    ("all-people-factors", 5, 100, 1000): "blup .357, blup-shared .426",
    ("all-people-factors", 5, 400, 1000): "blup .280, blup-shared .372",
}


def sides(case, data):
    """Return the ids of the people of cohort and reference, two lists; None where all are the cohort."""
    if case.cohort is None:
        return None
    genotypes = case.genotypes
    files = find_genotype_files(str(data / genotypes["vcf"]), genotypes["chromosomes"][0])
    people = list(genotype_header(tuple(files)).samples)
    if not case.reference:
        drawn = uniforms(case.seed, people, "frontier")
        order = [people[place] for place in drawn.argsort(kind="stable")]
        n_cohort = round(case.cohort * len(order))
        return order[:n_cohort], order[n_cohort:]
    ancestry = read_populations(data / POPULATIONS)["super_population"].reindex(people, fill_value="")
    return tuple(ancestry.index[ancestry.isin(names)].tolist() for names in (case.cohort, case.reference))


def settings_of(case, data, *, sizes=None, counts=None):
    """Return the settings of a case beside the configuration, and write its lists of people."""
    settings = {"study": case.study, "seed": case.seed} | case.settings
    vcf = str(data / case.genotypes["vcf"])
    settings |= {"cohort": case.genotypes | {"vcf": vcf}}
    found = sides(case, data)
    if found is not None:
        paths = [TABLE.with_name(f"{case.name}-{side}.txt") for side in ("cohort", "reference")]
        for path, people in zip(paths, found, strict=True):
            write_list(path, people)
        settings["people"] = {"keep": str(paths[0])}
        if takes_ld(settings.get("methods", ["blup-ld"])):
            settings["public"] = {"reference": vcf, "keep": str(paths[1])}
    for section, key, values in (("panel", "size", sizes), ("outcomes", "count", counts)):
        if values:
            settings[section] = settings.get(section, {}) | {key: values}
    return settings


def write_list(path, people):
    """Write ids, one a line; a list that is there as it is stays, as Snakemake looks at its time."""
    text = "".join(f"{person}\n" for person in people)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def run(case, settings, *, cores):
    """Run a case; return whether it went well."""
    overrides = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
    target = f"results/{case.study}/metrics.tsv"
    command = [
        "snakemake",
        "--snakefile",
        PROJECT / "Snakefile",
        "--configfile",
        CONFIG,
        "--cores",
        str(cores),
    ]
    started = time.monotonic()
    end = subprocess.run([sys.executable, "-m", *command, "--config", *overrides, "--", target], check=False)
    print(f"{case.name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    return end.returncode == 0


def gather():
    """Return R^2 of all cases that are done, the mean over outcomes and trials, and write the table."""
    tables = []
    for case in CASES:
        path = Path("results", case.study, "metrics.tsv")
        if path.is_file():
            metrics = pd.read_csv(path, sep="\t")
            means = metrics.groupby(["method", *CELL], dropna=False, sort=False)
            found = means["r2"].mean().reset_index()
            found.insert(0, "case", case.name)
            found.insert(0, "group", case.group)
            tables.append(found)
    if not tables:
        return pd.DataFrame(columns=["group", "case", "method", *CELL, "r2"])
    table = pd.concat(tables, ignore_index=True)
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(TABLE, sep="\t", index=False)
    return table


def in_markdown(table):
    """Yield lines: a cell of the grid each, means over the cases of a group ± their standard error."""
    methods = list(dict.fromkeys(table["method"]))
    yield f"| case | epsilon, variants, outcomes | {' | '.join(methods)} | reference |"
    yield "| --- " * (len(methods) + 3) + "|"
    # What is not private is the same at every epsilon.
    private = table[table["epsilon"].notna()]
    for key, _ in private.groupby(["group", *CELL], sort=False):
        group, epsilon, n_variants, n_outcomes = key
        is_cell = (table["group"] == group) & (table["epsilon"].isna() | (table["epsilon"] == epsilon))
        is_cell &= (table["n_variants"] == n_variants) & (table["n_outcomes"] == n_outcomes)
        found = [_figure(table.loc[is_cell & (table["method"] == method), "r2"]) for method in methods]
        cell = f"{epsilon:g}, {n_variants}, {n_outcomes}"
        yield f"| {group} | {cell} | {' | '.join(found)} | {REFERENCE.get(key, '')} |"


# A line of the figure: the groups and the methods, of which the best of each cell is taken.
LINES = {
    "no privacy": ("matched", ["ridge"], INK),
    "public LD, known ancestry": ("matched", ["blup-ld"], METHODS["blup-ld"].look[0]),
    "public LD, hedged": ("matched", ["blup-hedged"], METHODS["blup-hedged"].look[0]),
    "BLUP, the cohort's own LD": ("matched", ["blup"], METHODS["blup"].look[0]),
    "PRIMO's ReuseCov": ("paper", PAPER["methods"][1:], METHODS["reusecov-gauss"].look[0]),
}


def draw(table, path, *, n_variants=400):
    """Draw R^2 against the number of outcomes, a panel for each epsilon, and write it as PNG."""
    found = table[table["n_variants"] == n_variants]
    epsilons = sorted(found["epsilon"].dropna().unique())
    with styled():
        figure, (axes,) = new_figure(
            520, 230, left=40, right=12, top=24, bottom=62, ncols=max(len(epsilons), 1), sharey=True
        )
        for axis, epsilon in zip(axes, epsilons, strict=False):
            for name, (group, methods, colour) in LINES.items():
                own = found[(found["group"] == group) & found["method"].isin(methods)]
                own = own[own["epsilon"].isna() | (own["epsilon"] == epsilon)]
                means = own.groupby(["n_outcomes", "method"])["r2"].mean().groupby("n_outcomes").max()
                style = "--" if name == "no privacy" else "-"
                axis.plot(
                    means.index,
                    np.maximum(means, 0),
                    style,
                    color=colour,
                    marker="o",
                    markersize=3.5,
                    label=name,
                )
            axis.set(xscale="log", title=f"epsilon {epsilon:g}", xlabel="outcomes", ylim=(-0.01, 0.55))
            axis.xaxis.set_minor_locator(NullLocator())
            axis.set_xticks(
                sorted(found["n_outcomes"].unique()), map(str, sorted(found["n_outcomes"].unique()))
            )
        axes[0].set_ylabel("R² in other people (0 where it is below)")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=3)
        figure.savefig(path, dpi=200)


def _figure(values):
    if values.empty:
        return ""
    spread = f" ± {values.sem():.3f}" if len(values) > 1 else ""
    return f"{values.mean():.3f}{spread}"


def main(arguments=None):
    """Run cases and print the table of all that are done; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder of public data, with 1kg/ in it")
    names = [case.name for case in CASES]
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(names)}; all if left out")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument(
        "--size", type=int, nargs="+", help="numbers of variants, in place of those of all cases"
    )
    parser.add_argument("--count", type=int, nargs="+", help="numbers of outcomes, likewise")
    given = parser.parse_args(arguments)
    unknown = set(given.cases) - set(names)
    if unknown:
        parser.error(f"cases must be of {', '.join(names)}, got {', '.join(sorted(unknown))}.")
    failed = []
    for case in CASES:
        if case.name in given.cases or not given.cases:
            settings = settings_of(case, given.data, sizes=given.size, counts=given.count)
            if not run(case, settings, cores=given.cores):
                failed.append(case.name)
    table = gather()
    print(*in_markdown(table), sep="\n")
    if not table.empty:
        draw(table, FIGURE)
    if failed:
        print(f"Failed: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
