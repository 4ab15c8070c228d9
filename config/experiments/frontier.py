"""R^2 of methods on parts of the 1000 Genomes Project, each a case with studies of its own, as one table.

Cohort and public reference are people of the same files. Snakemake runs no case again that is done.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from dpgrs.io.genotype_files import find_genotype_files, genotype_header
from dpgrs.io.tables.tables import read_populations
from dpgrs.public_random import uniforms
from dpgrs.study.variant_terms import takes_ld
from dpgrs_papers.experiments.frontier_files import (
    OUTCOMES,
    at_penalty,
    first_replicate,
    last_version,
    measure_once,
    measured,
    with_own_share,
    with_residuals_of,
    write_if_new,
    write_loadings,
    write_scores,
)
from dpgrs_papers.experiments.frontier_tables import (
    LAST_VERSION,
    draw,
    in_markdown,
    lines_of_paper,
    mean_r2,
    paper_in_markdown,
)

PROJECT = Path(__file__).resolve().parents[2]
CONFIG = Path(__file__).with_suffix(".yaml")
# R^2 by independent code.
REFERENCE = CONFIG.with_name("frontier_reference.tsv")
TABLE = Path("results", "frontier", "table.tsv")
FIGURE = TABLE.with_name("figure.png")
# Targets of a study, and what is measured on what studies made.
METRICS, PAPER, OURS, LAST = "metrics.tsv", "paper.tsv", "ours.tsv", "last.tsv"
N_COMPONENTS = 20
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
    people : int, most people of the reference; None takes all.
    way : function of the case, its settings and what makes a target of a study, which returns whether it went
        well; None for a study of the workflow alone.
    """

    group: str
    settings: dict
    seed: int = 1
    cohort: float | tuple | None = 0.5
    reference: tuple = ()
    genotypes: dict = REGION
    people: int | None = None
    way: Callable | None = None

    @property
    def name(self):
        return f"{self.group}-{self.seed}"

    @property
    def study(self):
        return f"frontier-{self.name}".replace(".", "_")


def outcomes(*count, **terms):
    return {"outcomes": terms | {"count": list(count)}}


def folder_of(study):
    return Path("results", study)


def measure(case, settings, studies, name, function, *, mix=None):
    """Measure on what studies made, and write it beside the first, unless it is newer."""
    config = yaml.safe_load(CONFIG.read_text())
    counts = settings.get("outcomes", {}).get("count", config["outcomes"]["count"])
    known = {"seed": case.seed, "counts": counts, "epsilons": config["privacy"]["epsilon"]}
    folders = [folder_of(study) for study in studies]
    measure_once(folder_of(case.study) / name, folders, partial(function, **known), mix=mix)


def as_the_paper(case, settings, make):
    """Do what the PRIMO paper does, and the last version, on people and outcomes of the matched case."""
    if not make(settings, OUTCOMES):
        return False
    of_paper = partial(measured, "paper", methods=["reusecov-gauss", "reusecov-proj"], bounds="paper")
    for name, function in ((PAPER, of_paper), (LAST, last_version)):
        measure(case, settings, [case.study], name, function)
    return True


def few_outcomes(case, settings, make):
    """Measure BLUP as it is and as it was before the clip for few outcomes, with the same draws."""
    if not make(settings, OUTCOMES):
        return False
    now = partial(measured, "ours", methods=["blup"], bounds="tight")
    for name, function in ((OURS, now), (LAST, last_version)):
        measure(case, settings, [case.study], name, function)
    return True


def beside_own(case, settings, make, *, mix):
    """Mix outcomes that share causes with others that share none."""
    own = {name: value for name, value in settings["outcomes"].items() if name != "factors"}
    others = settings | {"study": f"{case.study}-own", "outcomes": own}
    if not (make(settings, OUTCOMES) and make(others, OUTCOMES)):
        return False
    methods = [name for name in settings["methods"] if name != "ridge"]
    function = partial(measured, "ours", methods=methods, bounds="tight")
    measure(case, settings, [settings["study"], others["study"]], OURS, function, mix=mix)
    return True


def by_components(case, settings, make):
    """Take loadings from outcomes of the people of the reference, and release components."""
    people = {"keep": settings["public"]["keep"]}
    others = settings | {"study": f"{case.study}-public", "methods": ["ridge"], "people": people}
    del others["public"]
    if not make(others, OUTCOMES):
        return False
    path = TABLE.with_name(f"{case.name}-loadings.tsv")
    write_loadings(path, first_replicate(folder_of(others["study"]))[1], n_components=N_COMPONENTS)
    return make(settings | {"outcomes": settings["outcomes"] | {"loadings": str(path)}}, METRICS)


def from_public_effects(case, settings, make):
    """Take scores that go with the true effects."""
    if not make(settings, OUTCOMES):
        return False
    paths = write_scores(
        TABLE.with_name(f"{case.name}-scores"),
        *first_replicate(folder_of(case.study)),
        correlation=0.7,
        seed=case.seed,
    )
    return make(settings | {"public": settings["public"] | {"effects": paths}}, METRICS)


def of_size(size, *count, **terms):
    return outcomes(*count, **terms) | {"variants": {"size": [size]}}


# Beside a map of the genome, which is of people.
ROWS = {"rows": "people", "planned_people": 1000}
ALONG_MAP = {
    "methods": ["ridge", "blup", "blup-ld", "blup-hedged", "blup-genome"],
    "privacy": {"unit": "person"},
    "public": {"same_ancestry": True},
}
LARGE, FEW = of_size(400, 10), {"methods": ["blup"]} | of_size(100, 1, 3, 5, 9)
# So many variants there are with rare ones alone.
GENOME_WIDE = {"methods": ["blup-ld"], "variants": {"size": [10_000], "maf": 0.001}} | outcomes(1, 10)
CASES = [
    *(Case("matched", {}, seed) for seed in (1, 2, 3)),
    *(Case("paper", {}, seed, way=as_the_paper) for seed in (1, 2, 3)),
    # Some 2,400 training rows in place of 2,000: of more people, so that fewer are left for the variant set,
    # or of the same with few to test on.
    *(Case("more-people", LARGE, seed, cohort=0.6) for seed in (1, 2, 3)),
    *(
        Case("more-rows", {**LARGE, "replicates": 4, "outcomes": {"count": [10], "test_share": 0.04}}, seed)
        for seed in range(1, 5)
    ),
    *(Case(f"people-{n}", outcomes(1, 10, 100), seed, people=n) for n in (100, 500) for seed in (1, 2, 3)),
    *(
        Case("person", {"privacy": {"unit": "person"}} | ({} if seed == 1 else outcomes(10, 100, 1000)), seed)
        for seed in (1, 2, 3)
    ),
    *(Case("genome-method", ALONG_MAP, seed, genotypes=REGION | ROWS) for seed in (1, 2, 3)),
    *(Case("genome-method-wide", ALONG_MAP, seed, cohort=0.75, genotypes=GENOME | ROWS) for seed in (1, 2)),
    # Single outcomes, which differ most, by six seeds, or by 21 where a difference was small.
    *(
        Case(f"panel-{name}", {} if seed <= 3 else outcomes(1), seed, cohort=ADMIXED, reference=(name,))
        for name, seeds in (("EUR", 6), ("EAS", 6), ("AFR", 21))
        for seed in range(1, seeds + 1)
    ),
    *(Case("factors", outcomes(100, 1000, factors=10), seed) for seed in (1, 2, 3)),
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
    *(
        Case("genome", {"variants": {"size": [100, 400, 1000]}}, seed, 0.75, genotypes=GENOME)
        for seed in (1, 2)
    ),
    Case("genome-wide", GENOME_WIDE, 1, 0.75, genotypes=GENOME),
    *(Case("sparse-10", of_size(400, 1, 10, causal_share=10 / 400), seed) for seed in (1, 2, 3)),
    *(
        Case(
            "effects",
            {"methods": ["ridge", "blup", "blup-ld"]} | of_size(400, 10),
            seed,
            way=from_public_effects,
        )
        for seed in (1, 2, 3)
    ),
    *(
        Case(
            f"loadings-{size}",
            {"methods": ["ridge", "blup", "blup-ld"]} | of_size(size, 1000, factors=10),
            seed,
            way=by_components,
        )
        for size in (100, 400)
        for seed in (1, 2, 3)
    ),
    *(
        Case("all-people", {"methods": WITHOUT_REFERENCE} | ({} if seed == 1 else outcomes(1000)), seed, None)
        for seed in range(1, 5)
    ),
    *(
        Case("all-people-factors", {"methods": WITHOUT_REFERENCE} | outcomes(*counts, factors=10), seed, None)
        for seed, counts in ((1, [100, 1000]), *((seed, [1000]) for seed in range(2, 7)))
    ),
    *(
        Case(
            f"all-people-{name}",
            {"methods": WITHOUT_REFERENCE} | outcomes(100, 1000, factors=10),
            seed,
            None,
            way=partial(beside_own, mix=mix),
        )
        for name, mix in (("half", with_own_share), ("genes", with_residuals_of))
        for seed in (1, 2)
    ),
    *(Case("all-people-few", FEW, seed, None, way=few_outcomes) for seed in range(1, 7)),
]


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
        return order[:n_cohort], order[n_cohort:][: case.people]
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
            settings["public"] = settings.get("public", {}) | {"reference": vcf, "keep": str(paths[1])}
    for section, key, values in (("variants", "size", sizes), ("outcomes", "count", counts)):
        if values:
            settings[section] = settings.get(section, {}) | {key: values}
    return settings


def write_list(path, people):
    """Write ids, one a line."""
    write_if_new(path, "".join(f"{person}\n" for person in people))


def run(case, settings, *, cores):
    """Run a case; return whether it went well."""
    started = time.monotonic()
    make = partial(make_target, cores=cores)
    is_well = make(settings, METRICS) if case.way is None else case.way(case, settings, make)
    print(f"{case.name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    return is_well


def make_target(settings, name, *, cores):
    """Make a file of a study by the workflow; return whether it went well."""
    overrides = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
    command = ["snakemake", "--snakefile", PROJECT / "workflow" / "Snakefile", "--configfile", CONFIG]
    command += ["--cores", str(cores)]
    target = folder_of(settings["study"]) / name
    end = subprocess.run([sys.executable, "-m", *command, "--config", *overrides, "--", target], check=False)
    return end.returncode == 0


def gather():
    """Return R^2 of all cases that are done, and the lines of the paper, and write both."""
    found, of_paper = [], []
    penalty = yaml.safe_load(CONFIG.read_text())["regression"]["lambda"]
    for case in CASES:
        for name in (METRICS, OURS, LAST, PAPER):
            path = folder_of(case.study) / name
            if not path.is_file():
                continue
            own = pd.read_csv(path, sep="\t").assign(group=case.group, case=case.name)
            if name in (OURS, LAST):
                own = at_penalty(own, penalty).copy()
            if name == LAST:
                own["group"] = LAST_VERSION if case.way is as_the_paper else f"{case.group}-unclipped"
            (of_paper if name == PAPER else found).append(own)
    table = mean_r2(found)
    paper = lines_of_paper(of_paper)
    for name, one in (("table", table), ("paper", paper)):
        if not one.empty:
            TABLE.parent.mkdir(parents=True, exist_ok=True)
            one.to_csv(TABLE.with_name(f"{name}.tsv"), sep="\t", index=False)
    return table, paper


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
    table, paper = gather()
    print(*in_markdown(table, pd.read_csv(REFERENCE, sep="\t")), sep="\n")
    if not paper.empty:
        print("", *paper_in_markdown(paper), sep="\n")
    if not table.empty:
        draw(table, paper, FIGURE)
    if failed:
        print(f"Failed: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
