"""Change the code in many small ways and see whether the tests of a module notice: `make mutants`.

cosmic-ray makes the changes, one at a time, and so does `mutants.operators`. A changed module is never
written to disk: every mutant is tested in a fork. `[tool.dpgrs-mutants]` in pyproject.toml names the tests of
every module; of these, the ones that run the changed line come first, the quickest before all. Survivors are
printed, and all verdicts kept in ``.mutants/results``.
"""

import argparse
import ast
import gc
import importlib
import json
import os
import sys
import tomllib
from difflib import unified_diff
from functools import partial
from pathlib import Path
from pkgutil import walk_packages

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from mutants.changed_code import ChangedModule
from mutants.forks import KILLED, OUTSIDE, SLOW, SURVIVED, UNTESTED, Order, Session, in_fork, run_pytest
from mutants.guards import Guards
from mutants.operators import OPERATORS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE, RESULTS = ROOT / "workflow" / "dpgrs", ROOT / ".mutants" / "results"
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
    """List the changes in some lines of a module: name of the operator, occurrence, line, changed code."""
    # Messages are for people, and whether a class is frozen or a cache is large changes no result.
    tree = parso.parse(source)
    left_alone = ("raise_stmt", "decorator")
    spans = [(node.start_pos, node.end_pos) for node in ast_nodes(tree) if node.type in left_alone]
    for name, operator in OPERATORS.items():
        places = [place for node in ast_nodes(tree) for place in operator().mutation_positions(node)]
        for number, (start, _) in enumerate(places):
            if start[0] in lines and not any(first < start < last for first, last in spans):
                code = mutate_code(source, operator(), number)
                if code != source and _is_python(code):
                    yield name, number, start[0], code


def _is_python(code):
    """Tell whether changed code is still code: a star among parameters is no product."""
    try:
        ast.parse(code)
    except SyntaxError:
        return False
    return True


class Verdicts:
    """What became of each mutant: a line of JSON each; survivors are printed as well."""

    def __init__(self, name, source):
        RESULTS.mkdir(parents=True, exist_ok=True)
        self._name, self._source = name, source
        self._path = RESULTS / f"{name.replace('/', '.')}.jsonl"
        self._console = os.dup(1)  # forks are silent otherwise

    def clear(self):
        self._path.write_text("")

    def tell(self, mutant, verdict):
        operator, occurrence, line, code = mutant
        diff = [*unified_diff(self._source.splitlines(), code.splitlines(), n=0, lineterm="")][2:]
        record = {"operator": operator, "occurrence": occurrence, "verdict": verdict, "diff": diff}
        with self._path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        if verdict in (SURVIVED, UNTESTED):
            text = "\n".join([f"{self._name}:{line} {verdict} ({operator} {occurrence})", *diff[1:], ""])
            os.write(self._console, text.encode())

    def of(self, *verdicts):
        """Return operator and occurrence of the mutants whose last verdict is one of some."""
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        last = {(one["operator"], one["occurrence"]): one["verdict"] for one in map(json.loads, lines)}
        return [mutant for mutant, verdict in last.items() if verdict in verdicts]


def run(name, tests, *, lines, again, quick):
    """Test the mutants of a module, or those that survived before; return the report."""
    path = PACKAGE / name
    source, noted = path.read_text(), RESULTS / f"{name.replace('/', '.')}.lines.json"
    verdicts = Verdicts(name, source)
    wanted = verdicts.of(SURVIVED, UNTESTED)
    mutants = [one for one in mutants_of(source, lines) if not again or one[:2] in wanted]
    verdicts.clear()
    session = Session(path, noted, mutants, verdicts.tell)
    if not in_fork(lambda: run_pytest(tests, session)):
        raise SystemExit(f"The tests of {name} must pass before it is changed. Run: pytest {' '.join(tests)}")
    guards, outside = Guards(noted, source), verdicts.of(OUTSIDE)
    for mutant in mutants:
        if mutant[:2] in outside and not quick:
            *_, line, code = mutant
            chosen = guards.of(line) or guards.all()
            work = partial(_import_and_run, ChangedModule(path, code, package=PACKAGE), chosen)
            has_survived = in_fork(work, limit=SLOW * guards.seconds(chosen) + 30)
            verdicts.tell(mutant, SURVIVED if has_survived else KILLED)
    left_out, survived = len(verdicts.of(OUTSIDE)), len(verdicts.of(SURVIVED, UNTESTED))
    report = f"{name}: {survived} of {len(mutants) - left_out} mutants survived"
    return f"{report}, {left_out} outside of functions were left out" if left_out else report


def _import_and_run(changed, tests):
    changed.install()
    return run_pytest(sorted({test.partition("::")[0] for test in tests}), Order(tests))


def main():
    guards = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dpgrs-mutants"]
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "modules", nargs="*", help="such as privacy/noise.py, or privacy/noise.py:130-190 for some lines"
    )
    parser.add_argument("--again", action="store_true", help="only what survived before")
    parser.add_argument("--quick", action="store_true", help="only changes inside of functions")
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(PACKAGE.parent))
    for one in walk_packages([str(PACKAGE)], "dpgrs."):
        if one.name != "dpgrs.__main__":
            importlib.import_module(one.name)
    gc.freeze()  # the end of pytest collects garbage, which would be most of a fork's time
    for wanted in options.modules or guards:
        name, _, part = wanted.partition(":")
        first, _, last = part.partition("-")
        lines = range(int(first), int(last) + 1) if part else range(10**6)
        print(run(name, guards[name], lines=lines, again=options.again, quick=options.quick), flush=True)


if __name__ == "__main__":
    main()
