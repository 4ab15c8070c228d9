import ast
import inspect
import re
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint

import pytest

from dpgrs.cli.main import main
from dpgrs.statement.methods import METHODS
from dpgrs.study import code
from dpgrs.study.code import PACKAGE, code_digest, package_digest, reached_files
from study_runs import REPOSITORY

RULES = REPOSITORY / "workflow" / "rules"
FILES = {
    "__init__.py": "",
    "steps/fit.py": "import dpgrs.bits\nfrom dpgrs.io import (\n    variant_set,  # ours\n    calls,\n)\n",
    "bits.py": "def late():\n    from dpgrs.io.late import read\n",
    "io/__init__.py": "",
    "io/variant_set.py": 'SCHEMA = "schemas/variant_set.yaml"\n',
    "io/calls.py": 'TEMPLATES = HERE / "templates"\n',
    "io/late.py": "from dpgrs import steps\nfrom dpgrs.selection.registry import chooser_of\n",
    "selection/registry.py": 'ROWS = {"a": Row(read="dpgrs.io.rows:read_a")}\n',
    "io/rows.py": "",
    "steps/__init__.py": "",
    "schemas/variant_set.yaml": "",
    "io/templates/page.html": "",
    # Not reached:
    "schemas/other.yaml": "",
    "steps/report.py": "from dpgrs.steps import fit\n",
    "io/notes.txt": "",
}
REACHED = list(FILES)[:12]


def write_package(folder, *, changed=None):
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(f"{text}# changed\n" if name == changed else text)
    return folder


def forget():
    """Let nothing be kept of which packages there are, and of what their files import."""
    for function in (code._named_in, code._plugins, code._modules_of_rows, code._other_files):
        function.cache_clear()


@pytest.fixture
def without_others(monkeypatch):
    """No other package adds anything."""
    monkeypatch.setattr(code, "points", lambda kind: [])
    forget()
    yield
    forget()


@pytest.mark.usefixtures("without_others")
def test_reached_files__are_all_that_is_imported_or_read(tmp_path):
    package = write_package(tmp_path)
    reached = reached_files("steps/fit.py", package=package)
    assert {file.relative_to(package).as_posix() for file in reached} == set(REACHED)


@pytest.mark.usefixtures("without_others")
@pytest.mark.parametrize("name", list(FILES))
def test_code_digest__changes_with_what_is_reached_alone(tmp_path, name):
    before, after = write_package(tmp_path / "a"), write_package(tmp_path / "b", changed=name)
    digests = [code_digest("steps/fit.py", package=package) for package in (before, after)]
    assert (digests[0] == digests[1]) == (name not in REACHED)
    assert package_digest(before) != package_digest(after)


PLUGIN = {
    "other/__init__.py": "",
    "other/rows.py": "FIT = Row(code='other' + '.fits:Fit')\n",
    "other/fits.py": "from dpgrs.io.far import far\nfrom other.parts import sums\nimport numpy\n",
    "other/parts/sums.py": 'PAGES = "parts"\n',
    "other/parts/sums.html": "",
    # Not reached:
    "other/pages.html": "",
    "other/rest.py": "",
}
POINTS = [EntryPoint("fit", "other.rows:FIT", "dpgrs.methods")]


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A package that adds a row, beside one that it adds it to."""
    for name, text in PLUGIN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    package = write_package(tmp_path / "dpgrs")
    (package / "io" / "far.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(code, "points", lambda kind: POINTS if kind == "methods" else [])
    monkeypatch.setitem(METHODS, "fit", replace(METHODS["blup"], code="other.fits:Fit"))
    yield package
    forget()


def test_reached_files__are_those_of_other_packages_too(plugin, tmp_path):
    forget()
    reached = {
        file.relative_to(tmp_path).as_posix() for file in reached_files("steps/fit.py", package=plugin)
    }
    assert reached == {f"dpgrs/{name}" for name in (*REACHED, "io/far.py")} | {*list(PLUGIN)[1:5]}


@pytest.mark.parametrize("name", list(PLUGIN))
def test_code_digest__changes_with_what_is_reached_of_other_packages(plugin, tmp_path, name):
    digests = []
    for text in ("", "# changed\n"):
        forget()
        with (tmp_path / name).open("a") as file:
            file.write(text)
        digests.append(code_digest("steps/fit.py", package=plugin))
    assert (digests[0] != digests[1]) == (name in list(PLUGIN)[1:5])


def test_code_digest__is_of_modules_of_other_packages(plugin, tmp_path):
    forget()
    reached = reached_files(tmp_path / "other" / "fits.py", package=plugin)
    names = {file.relative_to(tmp_path).as_posix() for file in reached}
    assert names == {*list(PLUGIN)[2:5], "dpgrs/io/far.py"}


def test_package_digest__leaves_out_what_is_compiled(tmp_path):
    package = write_package(tmp_path)
    before = package_digest(package)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "bits.pyc").write_bytes(b"compiled")
    assert package_digest(package) == before


def test_code_digest__a_missing_module_is_an_error():
    with pytest.raises(FileNotFoundError):
        code_digest("no_such_module.py")


def is_for_annotations(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@cache
def imported_by(file):
    """Return the modules of the package that a syntax tree says a file imports."""
    found, tree = set(), ast.parse(file.read_text())
    tree.body = [node for node in tree.body if not is_for_annotations(node)]
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{name}" for name in names)]
        for name in names:
            module = PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py")
            if module.is_file():
                found.add(module)
    return found


@pytest.mark.parametrize("step", sorted((PACKAGE / "steps").glob("*.py")), ids=lambda file: file.stem)
def test_reached_files__no_import_is_overlooked(step):
    reached = reached_files(step)
    assert {module for file in reached if file.suffix == ".py" for module in imported_by(file)} <= reached


def test_reached_files__what_draws_and_fits_is_reached_by_its_row():
    reached = reached_files("steps/draw.py", "steps/fit_weights.py")
    left = {path.name for path in (PACKAGE / "methods").glob("*.py") if path not in reached}
    # Those of a plan and of what a study may ask for are run by no rule.
    of_plans = {"planning.py", "synthetic_cohort.py", "synthetic_steering.py"}
    of_plans |= {"genome_sums.py"}
    assert left <= {"__init__.py", "joined.py", *of_plans}
    assert PACKAGE / "selection" / "dp_kendall.py" in reached


def test_reached_files__of_the_papers_are_followed_from_their_rows():
    papers = PACKAGE.with_name("dpgrs_papers")
    reached = reached_files("steps/draw.py")
    assert {papers / f"{name}.py" for name in ("rows", "methods/dp_sgd", "selection/lasso")} <= reached
    assert papers / "selection" / "peel.py" in reached
    assert papers / "tabular" / "replicates.py" not in reached
    assert papers / "methods" / "dp_sgd.py" not in reached_files("steps/render_report.py")


def test_reached_files__not_what_annotations_alone_import(tmp_path):
    lines = ["import os", "", "if TYPE_CHECKING:", "    from dpgrs.b import (", "        B,", "    )", ""]
    lines += ["    import dpgrs.c", "", "from dpgrs.d import D", ""]
    (tmp_path / "a.py").write_text("\n".join(lines))
    for name in "bcd":
        (tmp_path / f"{name}.py").touch()
    assert {path.name for path in reached_files("a.py", package=tmp_path)} == {"a.py", "d.py"}


def test_reached_files__templates_and_schemas_are_of_who_reads_them():
    reached = {file.name for file in reached_files("steps/render_report.py")}
    assert {"index.html", "macros.html", "attacks.html", "report.css"} <= reached
    assert "privacy_statement.schema.yaml" not in reached
    assert "privacy_statement.schema.yaml" in {file.name for file in reached_files("steps/write_release.py")}


def rules_with_code():
    """Return what each rule that has a digest of its code runs, and of which module the digest is."""
    for file in sorted(RULES.glob("*.smk")):
        for text in re.split(r"\n(?=(?:use )?rule )", file.read_text()):
            verb = re.search(r'"python -m dpgrs (?:--quiet )?([\w-]+)', text)
            module = re.search(r'code_digest\("([\w/.]+)"\)', text)
            if verb and module:
                yield verb[1], module[1]


@pytest.mark.parametrize(("verb", "module"), list(rules_with_code()))
def test_rules__the_digest_is_of_the_module_that_the_verb_runs(verb, module):
    source = inspect.getsource(main.commands[verb].callback)
    name = module.removesuffix(".py").replace("/", ".")
    package, _, own = name.rpartition(".")
    assert re.search(rf"from dpgrs\.({re.escape(name)} import|{re.escape(package)} import {own}\b)", source)


@pytest.mark.parametrize(
    "line",
    [
        "from .parts import sums",
        "from .parts.sums import total as sums_of_parts",
        "from ..other.parts import sums",
        "import numpy, other.parts.sums as sums",
        "from other.parts import (  # all (of them)\n    sums,\n)",
        "from other.parts import \\\n    sums",
    ],
)
def test_reached_files__are_those_of_imports_of_every_form(plugin, tmp_path, line):
    (tmp_path / "other" / "fits.py").write_text(f"{line}\n")
    forget()
    reached = reached_files("steps/fit.py", package=plugin)
    assert tmp_path / "other" / "parts" / "sums.py" in reached
    assert tmp_path / "other" / "rest.py" not in reached
