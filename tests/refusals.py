"""Every refusal that a private step of a release can raise, as the syntax trees say, and its condition."""

import ast
from collections import Counter

from dpgrs.statement.conditions import Condition
from dpgrs.study.code import PACKAGE, reached_files

# The steps that read private data before or at a draw.
STEPS = (
    *("choose_people", "ingest_chromosome", "make_variants", "make_outcomes", "make_covariates"),
    "adjust_outcomes",
    *("compute_statistics", "add_statistics", "take_sums", "export_sums", "measure_people", "sum_genome"),
    *("draw", "measure_release"),
)
# Readers of genotype files: whatever they refuse, the form of a file or of its calls is at fault.
READERS = ("io/vcf/", "io/plink/", "io/bgen/")
# Rooms whose misuse by the program (UsageError) is refused by what is no data of people: settings and terms.
OF_TERMS = (
    *("api/", "evaluation/", "fetching/", "methods/", "privacy/", "release/", "reporting/"),
    *("scoring/", "selection/", "simulation/", "statement/", "errors.py"),
)
# Of the other modules: a line for each function that refuses, with the number of its refusals.
PUBLIC = "no private data"


def refusals():
    """Return the numbers of refusals, a Counter of (module, function), but for those of `READERS`."""
    found = Counter()
    for file in reached_files(*(f"steps/{name}.py" for name in STEPS)):
        if file.suffix != ".py" or not file.is_relative_to(PACKAGE):
            continue
        module = file.relative_to(PACKAGE).as_posix()
        if not module.startswith(READERS):
            for function, error in errors_made(ast.parse(file.read_text(encoding="utf-8"))):
                if error.func.id != "UsageError" or not module.startswith(OF_TERMS):
                    found[module, function] += 1
    return found


def errors_made(node, names=()):
    """Yield the calls that make an error in a syntax tree, each with the name of its function."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        names = (*names, node.name)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("DpgrsError", "UsageError"):
        yield ".".join(names), node
    for child in ast.iter_child_nodes(node):
        yield from errors_made(child, names)


def listed(text):
    """Return what a table lists: a dict of (module, function) to number and conditions."""
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return {(module, function): (int(number), said.split(", ")) for module, function, number, said in rows}


KNOWN = {*Condition, PUBLIC}
