"""A whole study of a stated size, run for what its jobs take."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.study.code import SNAKEFILE
from dpgrs.study.resources import NEEDS, resources_of
from dpgrs.study.settings import resolve
from dpgrs.study.shape import Shape

STUDY = "scale"
# Kinds of studies: those that sum X'X, and those that choose variants, of variant sets of any width.
METHODS = {"sums": ("ridge", "reusecov-gauss", "blup"), "choices": ("k-blup",)}
# As Snakemake's benchmarks count memory.
MIB = 2**20 / 10**6
# Simulated people, of whom larger cohorts are copies; bases for each variant that passes all filters; and the
# fewest and the most bases of a chromosome.
SOURCE_PEOPLE, BASES_A_VARIANT, LEAST_BASES, MOST_BASES = 500, 600, 100_000, 10_000_000


def study_of(people: int, variants: int, outcomes: int, *, kind: str = "sums") -> dict:
    """Return the configuration of a study: haplotypes as rows, tight bounds, one replicate."""
    length = max(LEAST_BASES, BASES_A_VARIANT * variants)
    n_chromosomes = -(-length // MOST_BASES)
    simulation = {"people": min(people, SOURCE_PEOPLE), "length": length // n_chromosomes}
    cohort = {"simulation": simulation, "chromosomes": [str(number + 1) for number in range(n_chromosomes)]}
    if people > SOURCE_PEOPLE:
        cohort["copies"] = {"people": people}
    privacy = {"protection": "full", "bounds": "tight", "epsilon": [5]}
    sections = {
        "variants": {"size": variants},
        "outcomes": {"count": outcomes},
        "privacy": privacy,
        "replicates": 1,
    }
    return {"study": STUDY, "methods": [*METHODS[kind]], "cohort": cohort} | sections


def run_replicate(part_name: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Run the study of a part up to the measures of its replicate, one job at a time; a row for each rule.

    Parts that check the models take as long as all others, so only their first replicate runs. Memory, used
    and asked for, is the most MB of a job, NaN if none was long enough to be measured.
    """
    if replicate > 1 and part_name in settings["check"].values():
        return []
    kind = next(kind for kind, sizes in settings["sizes"].items() if part_name in sizes)
    size = dict(zip(("people", "variants", "outcomes"), settings["sizes"][kind][part_name], strict=True))
    config = study_of(**size, kind=kind) | {"seed": settings["seed"] + replicate}
    with TemporaryDirectory() as folder:
        Path(folder, "study.json").write_text(json.dumps(config), encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "--snakefile", SNAKEFILE, "--directory", folder]
        command += [
            "--configfile",
            Path(folder, "study.json"),
            "--cores",
            "1",
            "--until",
            "evaluate_replicate",
        ]
        process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if process.returncode:
            raise DpgrsError(
                "study-failed", f"The study of `{part_name}` must end, but failed:\n{process.stdout[-2000:]}"
            )
        return [
            {"kind": kind} | size | row
            for row in jobs_in(Path(folder, "results", STUDY, "benchmarks"), config)
        ]


def jobs_in(folder: Path, config: dict) -> Iterator[dict]:
    """Yield what the jobs of each rule took and asked for."""
    shape = Shape(resolve(config))
    paths = {}
    for path in sorted(folder.rglob("*.tsv")):
        paths.setdefault(path.relative_to(folder).parts[0].removesuffix(".tsv"), []).append(path)
    for rule, rule_paths in paths.items():
        verb = rule.replace("_", "-")
        if verb not in NEEDS:
            continue
        took = pd.concat([pd.read_csv(path, sep="\t", na_values="-") for path in rule_paths])
        # A draw's benchmarks are named by replicate and mechanism.
        mechanism = rule_paths[0].stem.partition(".")[2] if rule == "draw" else None
        wildcards = SimpleNamespace(mechanism=mechanism)
        requested_mb = resources_of(verb, shape)["mem_mb"](wildcards, threads=1, attempt=1)
        yield {
            "rule": rule,
            "seconds": took["s"].sum(),
            "used": took["max_rss"].max() * MIB,
            "asked": requested_mb,
        }
