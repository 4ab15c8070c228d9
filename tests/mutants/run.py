"""Change the code in many small ways and see whether the tests of a module notice: `make mutants`.

cosmic-ray makes the changes, one at a time, and so does `mutants.operators`. A changed module is never
written to disk: every mutant is tested in a fork, whose import gives the changed code. `[tool.dpgrs-mutants]`
in pyproject.toml names the tests of every module; of these, the ones that run the changed line are tried, the
quickest first. Survivors are printed and kept in ``.mutants/results``.
"""

import argparse
import gc
import importlib.util
import json
import math
import os
import re
import signal
import sys
import time
import tomllib
from difflib import unified_diff
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from pathlib import Path
from pkgutil import walk_packages

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from mutants.guards import Guards, Order, Watch
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
# What tests import beside the package, once for all forks.
HEAVY = ("hypothesis", "pytest")
PASSED, SLOW = 0, 4  # a mutant may take so many times as long as the code as it is


class ChangedModule(MetaPathFinder, SourceFileLoader):
    """Import a module from changed code."""

    def __init__(self, path, code):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        SourceFileLoader.__init__(self, name, str(path))
        self._code = code

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def get_data(self, path):
        return self._code.encode()

    def path_stats(self, path):
        raise OSError  # nothing of it is read from or written to a cache

    def set_data(self, *_, **__):
        pass


def mutants_of(source, lines):
    """List the changes in some lines of a module: name of the operator, occurrence, line, changed code."""
    # Messages are for people.
    tree = parso.parse(source)
    spans = [(node.start_pos, node.end_pos) for node in ast_nodes(tree) if node.type == "raise_stmt"]
    for name, operator in OPERATORS.items():
        places = [place for node in ast_nodes(tree) for place in operator().mutation_positions(node)]
        for number, (start, _) in enumerate(places):
            if start[0] in lines and not any(first < start < last for first, last in spans):
                code = mutate_code(source, operator(), number)
                if code != source:
                    yield name, number, start[0], code


def passes(path, code, tests, *, limit=math.inf, first=(), seen=None):
    """Run tests in a fork on changed code, some of them first; tell whether they pass.

    With `seen`, note there which test runs which lines.
    """
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        changed = ChangedModule(path, code)
        for name in _importers(changed.name):
            package, _, leaf = name.rpartition(".")
            del sys.modules[name]
            if package in sys.modules:
                delattr(sys.modules[package], leaf)
        sys.meta_path.insert(0, changed)
        os._exit(_pytest(tests, Watch(path) if seen else Order(first), seen))
    ends = time.monotonic() + limit
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == PASSED
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@cache
def _importers(name):
    """Return the imported modules that would not notice a change of one: itself and all that import it."""
    found, before = {name}, set()
    while found != before:
        before = set(found)
        found |= {one for one, imported in _imports().items() if imported & before}
    return found & sys.modules.keys()


@cache
def _imports():
    return {
        name: set(_names(Path(module.__file__).read_text()))
        for name, module in sys.modules.items()
        if name.startswith("dpgrs.")
    }


def _names(source):
    for package, names in re.findall(
        r"(?:from|import) (dpgrs[\w.]*)(?: import ([^(\n]+|\([^)]*\)))?", source
    ):
        yield package
        yield from (f"{package}.{name}" for name in re.findall(r"\w+", names))


def _pytest(tests, plugin, seen):
    import pytest

    try:
        code = int(pytest.main([*tests, "-x", "--assert=plain", "-p", "no:cacheprovider"], plugins=[plugin]))
        if seen:
            plugin.write(seen)
        return code
    except BaseException:
        return 1


def run(name, tests, *, lines, again):
    """Test the mutants of a module, or those that survived before; return the report."""
    path, kept = PACKAGE / name, RESULTS / f"{name.replace('/', '.')}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    source, began, seen = path.read_text(), time.monotonic(), kept.with_suffix(".lines")
    if not passes(path, source, tests, seen=seen):
        raise SystemExit(f"The tests of {name} must pass before it is changed. Run: pytest {' '.join(tests)}")
    guards = Guards(seen, source)
    wanted = {tuple(one["mutant"]) for one in json.loads(kept.read_text())["survived"]} if again else None
    survived, n_mutants = [], 0
    for operator, number, line, code in mutants_of(source, lines):
        if wanted is not None and (operator, number) not in wanted:
            continue
        n_mutants += 1
        first = guards.of(line)
        files = {test.partition("::")[0] for test in first}
        limit = SLOW * guards.seconds(files) + 10
        if not first or passes(path, code, files, limit=limit, first=first):
            diff = [*unified_diff(source.splitlines(), code.splitlines(), n=0, lineterm="")][2:]
            print(name, operator, number, *diff, *["no test runs it"] * (not first), sep="\n", flush=True)
            survived.append({"mutant": [operator, number], "diff": diff})
    report = {"module": name, "mutants": n_mutants, "seconds": round(time.monotonic() - began)}
    kept.write_text(json.dumps(report | {"survived": survived}, indent=1) + "\n")
    return f"{name}: {len(survived)} of {n_mutants} mutants survived, {report['seconds']} s"


def main():
    guards = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dpgrs-mutants"]
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "modules", nargs="*", help="such as privacy/noise.py, or privacy/noise.py:130-190 for some lines"
    )
    parser.add_argument("--again", action="store_true", help="only what survived before")
    options = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(PACKAGE.parent))
    for name in (*HEAVY, *(one.name for one in walk_packages([str(PACKAGE)], "dpgrs."))):
        if name != "dpgrs.__main__":
            importlib.import_module(name)
    gc.freeze()  # pytest collects garbage at its end, which would be most of a fork's time
    for wanted in options.modules or guards:
        name, _, part = wanted.partition(":")
        first, _, last = part.partition("-")
        lines = range(int(first), int(last) + 1) if part else range(10**6)
        print(run(name, guards[name], lines=lines, again=options.again), flush=True)


if __name__ == "__main__":
    main()
