"""Change the code in many small ways and see whether the tests of a module notice: `make mutants`.

cosmic-ray makes the changes, one at a time, and so does `mutants.operators`. A changed module is never
written to disk: every mutant is tested in a fork, by the tests that run the changed line, those of its module
first. Survivors are printed, and all verdicts kept in ``.mutants/results``. ``harmless.tsv`` has the changes
that need no test, each with a reason.
"""

import argparse
import ast
import csv
import gc
import importlib
import json
import os
import re
import sys
from difflib import unified_diff
from functools import partial
from pathlib import Path
from pkgutil import walk_packages

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from mutants.changed_code import ChangedModule
from mutants.forks import (
    KILLED,
    OUTSIDE,
    SLOW,
    SURVIVED,
    UNTESTED,
    Order,
    Session,
    in_fork,
    run_pytest,
    side_by_side,
)
from mutants.guards import Notes
from mutants.operators import OPERATORS

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW, KEPT = ROOT / "workflow", ROOT / ".mutants"
PACKAGES = ("dpgrs", "dpgrs_papers")
TESTS = ("tests/unit", "tests/papers/unit", "tests/contract", "tests/reference")
STEPS = (
    *("adjust_outcomes", "draw", "make_outcomes", "measure_people", "measure_release", "sum_genome"),
    "write_release",
)
STUDY = (
    *("adjusted_outcomes", "adjustment", "after_regression", "exact_statistics", "fit_identity"),
    *("genome_maps", "genome_people", "identity", "made_by", "public_panel", "released"),
    *("released_accuracy", "training_data"),
)
RELEASE = (
    *("audits", "case_counts", "constants", "content", "covariates", "mechanisms", "odds"),
    "statement",
)
# Where a wrong line may break a guarantee; compiled kernels cannot be changed in a fork.
GUARDED = (
    "dpgrs/privacy/**/[!_]*.py",
    "dpgrs/statement/[!_]*.py",
    "dpgrs/linalg/[!_]*.py",
    "dpgrs*/selection/**/[!_]*.py",
    "dpgrs*/methods/**/[!_]*.py",
    *(f"dpgrs/steps/{name}.py" for name in STEPS),
    *(f"dpgrs/study/{name}.py" for name in STUDY),
    *(f"dpgrs/release/{name}.py" for name in RELEASE),
    "dpgrs/preflight/public_side.py",
    "dpgrs/verify/side_check.py",
    "dpgrs/genotypes/slabs.py",
    "dpgrs/io/people_slabs.py",
    "dpgrs_papers/[!_]*.py",
    "dpgrs_papers/tabular/[!_]*.py",
)
# Stars among parameters, names that equal the members of their enumerations, and lists of equal length.
TYPES = (WORKFLOW / "dpgrs" / "types.py").read_text()
NAMES = "|".join(re.findall(r"^class (\w+)\(StrEnum\)", TYPES, re.MULTILINE))
HARMLESS = re.compile(rf"\*,|({NAMES})\(|strict=True")
# Of cosmic-ray's operators: for each sign the replacements that are hardest to notice.
SIGNS = ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Div", "Mod_FloorDiv", "Pow_Mul")
BITS = ("RShift_LShift", "LShift_RShift", "BitOr_BitAnd", "BitAnd_BitOr", "BitXor_BitOr")
ORDERS = ("Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt")
EQUAL = ("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is")
OTHERS = ("AddNot", "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd")
MORE = ("NumberReplacer", "RemoveDecorator", "ZeroIterationForLoop")
OPERATORS = OPERATORS | {
    name: get_operator(f"core/{name}")
    for name in (
        *(f"ReplaceBinaryOperator_{pair}" for pair in SIGNS + BITS),
        *(f"ReplaceComparisonOperator_{pair}" for pair in ORDERS + EQUAL),
        *(f"ReplaceUnaryOperator_{pair}" for pair in ("USub_UAdd", "Delete_USub", "Delete_Not")),
        *OTHERS,
        *MORE,
    )
}


def mutants_of(source, lines):
    """List the changes in some lines of a module: name of the operator, occurrence, line."""
    # Messages are for people, and whether a class is frozen or a cache is large changes no result.
    tree, text = parso.parse(source), source.splitlines()
    left_alone = ("raise_stmt", "decorator")
    spans = [(node.start_pos, node.end_pos) for node in ast_nodes(tree) if node.type in left_alone]
    for name, operator in OPERATORS.items():
        places = [place for node in ast_nodes(tree) for place in operator().mutation_positions(node)]
        for number, (start, _) in enumerate(places):
            line = text[start[0] - 1]
            is_harmless = HARMLESS.match(line, start[1]) or line[: start[1]].endswith("strict=")
            left_out = is_harmless or any(first < start < last for first, last in spans)
            if start[0] in lines and not left_out:
                yield name, number, start[0]


def changed(source, mutant):
    """Return changed code; None where nothing changed, or where it is no code: a star is no product there."""
    name, number, _ = mutant
    code = mutate_code(source, OPERATORS[name](), number)
    try:
        ast.parse(code)
    except SyntaxError:
        return None
    return code if code != source else None


def difference(source, code):
    """Return the lines of a unified diff of two texts, without its head."""
    return [*unified_diff(source.splitlines(), code.splitlines(), n=0, lineterm="")][2:]


def was_and_becomes(diff):
    """Return what a change takes away and what it puts there, each a line of text."""
    return tuple(" ".join(line[1:].strip() for line in diff if line.startswith(sign)) for sign in "-+")


def harmless(module):
    """Return the changes of a module that need no test, as `was_and_becomes` gives them."""
    with (Path(__file__).parent / "harmless.tsv").open(newline="") as file:
        lines = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(line["was"], line["becomes"]) for line in lines if line["module"] == module}


class Module:
    """A module, its mutants, and what became of each.

    Parameters
    ----------
    name : str
        Such as ``dpgrs/privacy/noise/sources.py``.
    lines : range
        Where changes are made.
    again : bool
        Whether only of what survived before.
    """

    def __init__(self, name, *, lines, again):
        self.name, self.path = name, WORKFLOW / name
        self.source = self.path.read_text()
        self._results = KEPT / "results" / f"{name.replace('/', '.')}.jsonl"
        self._console = os.dup(1)  # forks are silent otherwise
        self._harmless = harmless(name)
        before = self.of(SURVIVED, UNTESTED)
        self.mutants = [one for one in mutants_of(self.source, lines) if not again or one[:2] in before]

    def changed(self, mutant):
        """Return the changed code; None where the change is none, or is known to be harmless."""
        code = changed(self.source, mutant)
        is_harmless = code and was_and_becomes(difference(self.source, code)) in self._harmless
        return None if is_harmless else code

    def forget(self):
        """Begin with no verdicts."""
        self._results.parent.mkdir(parents=True, exist_ok=True)
        self._results.write_text("")

    def tell(self, mutant, code, verdict):
        """Keep a verdict; print a survivor."""
        operator, occurrence, line = mutant
        diff = difference(self.source, code)
        record = {"operator": operator, "occurrence": occurrence, "verdict": verdict, "diff": diff}
        with self._results.open("a") as file:
            file.write(json.dumps(record) + "\n")
        if verdict in (SURVIVED, UNTESTED):
            text = "\n".join([f"{self.name}:{line} {verdict} ({operator} {occurrence})", *diff[1:], ""])
            os.write(self._console, text.encode())

    def of(self, *verdicts):
        """Return operator and occurrence of the mutants whose last verdict is one of some."""
        lines = self._results.read_text().splitlines() if self._results.exists() else []
        last = {(one["operator"], one["occurrence"]): one["verdict"] for one in map(json.loads, lines)}
        return {mutant for mutant, verdict in last.items() if verdict in verdicts}

    def import_and_test(self, mutants, guards):
        """Test changes that are outside of functions, by importing the changed module."""
        for mutant in mutants:
            code = self.changed(mutant)
            tests = guards.of(mutant[-1]) or guards.all()
            work = partial(_import_and_run, ChangedModule(self.path, code, folder=WORKFLOW), tests)
            has_survived = in_fork(work, limit=SLOW * guards.seconds(tests) + 30)
            self.tell(mutant, code, SURVIVED if has_survived else KILLED)
        return True

    @property
    def counts(self):
        """Mutants that tests met, those that survived, and those outside of functions that were left out."""
        survived = len(self.of(SURVIVED, UNTESTED))
        return len(self.of(KILLED)) + survived, survived, len(self.of(OUTSIDE))


def _import_and_run(module, tests):
    module.install()
    return run_pytest(sorted({test.partition("::")[0] for test in tests}), Order(tests))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "modules",
        nargs="*",
        help="such as dpgrs/linalg/covariates.py, or dpgrs/linalg/covariates.py:30-90 for some lines",
    )
    parser.add_argument("--again", action="store_true", help="only what survived before")
    parser.add_argument("--quick", action="store_true", help="only changes inside of functions")
    parser.add_argument("--seconds", type=float, default=60, help="of tests that a mutant meets")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files of tests, or folders of them")
    parser.add_argument("--share", help="K/N, such as 3/28: every N-th of the modules, from the K-th on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes side by side")
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(WORKFLOW))
    for package in PACKAGES:
        for module in walk_packages([str(WORKFLOW / package)], f"{package}."):
            if module.name != "dpgrs.__main__":
                importlib.import_module(module.name)
    gc.freeze()  # the end of pytest collects garbage, which would be most of a fork's time
    names = (options.modules or _guarded())[_share(options.share)]
    modules = [_module(name, again=options.again) for name in names]
    notes = Notes(KEPT / "lines", [WORKFLOW / name for name in PACKAGES], longest=options.seconds)
    jobs = range(options.jobs)
    side_by_side([lambda: run_pytest(options.tests, Session(notes, modules, len(jobs)))])
    for module in modules:
        if not options.quick:
            left, guards = module.of(OUTSIDE), notes.guards(module.path, module.source)
            left = [mutant for mutant in module.mutants if mutant[:2] in left]
            side_by_side([partial(module.import_and_test, left[job :: len(jobs)], guards) for job in jobs])
    print("module\tmutants\tsurvived\tleft out")
    for module in modules:
        print(module.name, *module.counts, sep="\t")
    print("all", *map(sum, zip(*(module.counts for module in modules), strict=True)), sep="\t")


def _share(text):
    """Return which modules are a share of all, as a slice: 3/28 is every 28th from the third on."""
    if not text:
        return slice(None)
    number, of_all = map(int, text.split("/"))
    if not 1 <= number <= of_all:
        raise SystemExit(f"--share must be K/N with K from 1 to N, got {text}.")
    return slice(number - 1, None, of_all)


def _guarded():
    return [str(path.relative_to(WORKFLOW)) for pattern in GUARDED for path in sorted(WORKFLOW.glob(pattern))]


def _module(wanted, *, again):
    name, _, part = wanted.partition(":")
    first, _, last = part.partition("-")
    return Module(name, lines=range(int(first), int(last) + 1) if part else range(10**6), again=again)


if __name__ == "__main__":
    main()
