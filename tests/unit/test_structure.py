"""The shape of the package: layers, the doors of randomness, what mechanisms promise, sizes."""

import ast
import csv
import re
import sys
import tomllib
from importlib import import_module
from importlib.metadata import packages_distributions

import numpy as np
import pytest
import yaml

import dpgrs
from refusals import errors_made
from study_runs import REPOSITORY

PACKAGE = REPOSITORY / "workflow" / "dpgrs"
# The papers' plug-in, which the core must do without.
PAPERS = PACKAGE.with_name("dpgrs_papers")
MODULES = sorted(PACKAGE.rglob("*.py"))
ALL_MODULES = [*MODULES, *sorted(PAPERS.rglob("*.py"))]
# What each room may import beside itself and the modules at the package's root.
ALLOWED = {
    "genotypes": set(),
    "io": {"genotypes"},
    "fetching": set(),
    "config": {"methods"},
    "privacy": set(),
    "statement": set(),
    "simulation": {"genotypes", "io"},
    "scoring": {"genotypes", "io", "linalg"},
    "linalg": {"genotypes"},
    "selection": {"genotypes", "privacy", "linalg"},
    "methods": {"genotypes", "privacy", "linalg", "selection", "statement"},
    "evaluation": {"genotypes", "privacy", "linalg", "methods"},
    "reporting": {"io", "privacy", "statement", "selection", "methods", "evaluation"},
    "study": {
        *("genotypes", "io", "fetching", "privacy", "simulation", "scoring", "linalg", "selection"),
        *("methods", "config", "evaluation", "reporting", "statement"),
    },
    # Genotypes of public people, which one module of it reads.
    "verify": {"genotypes", "io", "statement"},
    "release": {"genotypes", "io", "privacy", "statement", "verify", "linalg", "methods", "study"},
    "preflight": {
        *("io", "privacy", "statement", "scoring", "selection", "methods", "config", "study", "release"),
        "verify",
    },
    "planning": {
        *("io", "privacy", "statement", "linalg", "selection", "methods", "config", "evaluation", "study"),
        "preflight",
    },
}
ALLOWED["steps"] = set(ALLOWED) - {"preflight", "planning"}
ALLOWED["cli"] = {*ALLOWED}
ALLOWED["api"] = {"io", "privacy", "methods", "config", "study", "planning"}
MOST_AT_ROOT = 8
# What compiled functions take of other modules. Numba keeps their machine code until their own file changes:
# after an update, another value under the same name would not reach it.
KERNEL_CONSTANTS = {
    "WORD_BITS": 64,
    "PEOPLE_OF_WORD": 32,
    "EVEN_BITS": 0x5555_5555_5555_5555,
    "STEPS_PER_ALLELE": 4096,
    "DTYPE": np.uint16,
    "DIGIT_BITS": 31,
    "HALF_REF": -1,
    "HALF_ALT": -2,
}
# What the check of a bundle runs beside its own room and statements, and the lines of all.
OUTSIDE_OF_VERIFY = {"errors.py", "fit_keys.py", "plugins.py", "types.py"}
MOST_TO_TRUST = 5660
# Lines of the package that a step runs beside the rows of registries; the aim for draws is 12,000.
MOST_OF_STEP = {"draw": 14_200, "fit_weights": 8_850}
# Rooms of which such a step runs nothing: readers of genotype files, pages, checks, simulation.
APART_FROM_STEPS = (
    "io/vcf/",
    "io/plink/",
    "io/bgen/",
    "fetching/",
    "preflight/",
    "reporting/",
    "simulation/",
)
# Public seeded draws, noise, and the secret key that noise will hang on.
RANDOM_DOORS = {"public_random.py", "privacy/noise/sources.py", "privacy/noise/study_key.py"}
# Rooms and modules whose functions have types in annotations, and prose of a line or a few.
ANNOTATED = (
    "__init__.py",
    "__main__.py",
    "api/",
    "cli/",
    "config/",
    "dpgrs_papers/",
    "errors.py",
    "evaluation/",
    "fetching/",
    "fit_keys.py",
    "genotypes/",
    "io/",
    "linalg/",
    "methods/",
    "planning/",
    "plugins.py",
    "preflight/",
    "privacy/",
    "public_random.py",
    "release/",
    "reporting/",
    "scoring/",
    "selection/",
    "simulation/",
    "statement/",
    "steps/",
    "study/",
    "threads.py",
    "types.py",
    "verify/",
)
# The one door and its samplers, whose draws keep their sections.
DRAWS = ("privacy/noise/base.py", "privacy/noise/depth_noise.py", "privacy/noise/samplers.py")
# Compiled kernels, which keep their sections and need no annotations.
KERNELS = ("_kernels.py", "_bit_counts.py", "_vectors.py")
SECTION = re.compile(
    r"^(Parameters|Returns|Yields|Raises|Attributes|Notes|References|See Also)\n-{3,}$", re.M
)


def name_of(module):
    return module.relative_to(PACKAGE if module.is_relative_to(PACKAGE) else PAPERS.parent).as_posix()


def imported_modules(path):
    """Yield the modules of the package that a file runs, also inside functions; none for types only."""
    tree = ast.parse(path.read_text())
    blocks = (node for node in ast.walk(tree) if isinstance(node, ast.If))
    for_types = {
        node for block in blocks if ast.unparse(block.test) == "TYPE_CHECKING" for node in ast.walk(block)
    }
    for node in (node for node in ast.walk(tree) if node not in for_types):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            # What is imported from a package may be a module.
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (name for name in names if name.startswith("dpgrs."))


def imported_rooms(path):
    """Return the rooms that a file imports from, a set."""
    return {name.split(".")[1] for name in imported_modules(path)} & set(ALLOWED)


def test_rooms__imports_point_one_way():
    wrong = [
        f"{name_of(module)} imports {imported}"
        for module in MODULES
        if (room := name_of(module).rpartition("/")[0].partition("/")[0])
        for imported in imported_rooms(module) - {room} - ALLOWED[room]
    ]
    assert wrong == []


def test_core__knows_no_module_of_the_papers():
    """By no import, and by no text such as a row of a registry has."""
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    rules = [REPOSITORY / "Snakefile", *(REPOSITORY / "workflow" / "rules").glob("*.smk")]
    assert [path.name for path in (*files, *rules) if b"dpgrs_papers" in path.read_bytes()] == []


def test_steps__import_no_other_step():
    wrong = [
        f"{name_of(module)} imports {imported}"
        for module in (PACKAGE / "steps").glob("*.py")
        for imported in imported_modules(module)
        if imported.startswith("dpgrs.steps")
    ]
    assert wrong == []


def reached_files(path, *, but):
    """Return a file and all that it runs of the package, also inside functions, but for some of these."""
    files = {name_of(module).removesuffix(".py").replace("/", "."): module for module in MODULES}
    reached, waiting = set(), [path]
    while waiting:
        file = waiting.pop()
        if file not in reached | but:
            reached.add(file)
            names = {name.removeprefix("dpgrs.") for name in imported_modules(file)}
            waiting += [files[name] for name in names & files.keys()]
    return reached


def test_verify__what_checks_a_bundle_trusts_nothing_that_makes_one():
    """All that a stranger has to read: the room, statements, the numbers of the accounting, and the root.

    The readers of public people are loaded with `--reference` only.
    """
    seam = PACKAGE / "verify" / "reference_check.py"
    reached = reached_files(PACKAGE / "verify" / "bundle.py", but={seam})
    others = {name_of(file) for file in reached if not name_of(file).startswith(("verify/", "statement/"))}
    assert others == OUTSIDE_OF_VERIFY
    assert sum(len(file.read_text().splitlines()) for file in reached) <= MOST_TO_TRUST


@pytest.mark.parametrize("step", MOST_OF_STEP)
def test_steps__what_draws_and_fits_runs_little_beside_its_subject(step):
    """So that few updates rerun them, and a reader has less to know."""
    reached = reached_files(PACKAGE / "steps" / f"{step}.py", but=set())
    assert [name_of(file) for file in reached if name_of(file).startswith(APART_FROM_STEPS)] == []
    assert sum(len(file.read_text().splitlines()) for file in reached) <= MOST_OF_STEP[step]


def test_rooms__the_root_holds_what_every_room_needs_alone():
    assert sum(module.parent == PACKAGE for module in MODULES) <= MOST_AT_ROOT


def imported_packages(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)


def test_packages__that_run_need_are_dependencies():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]

    def named(entries):
        return {re.match(r"[\w.-]+", entry)[0].lower() for entry in entries}

    declared = named([*project["dependencies"], *extras["score"], *extras["workflow"]])
    imported = {name for module in ALL_MODULES for name in imported_packages(ast.parse(module.read_text()))}
    # Modules of the extra `gan`, which need not be here, are named as their packages.
    extra = named(extras["gan"])
    own, distributions = sys.stdlib_module_names | {"dpgrs", "dpgrs_papers"} | extra, packages_distributions()
    # Jinja needs it, and has always had it.
    needed = {distributions[name][0].lower() for name in imported - own} - {"markupsafe"}
    assert needed <= declared


def names_in(*nodes):
    return {name.id for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name)}


def taken_by_kernels(file):
    """Map what compiled functions of a file, and constants in them, take of other modules to these."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    imported = {
        name.asname or name.name: node.module
        for node in body
        if isinstance(node, ast.ImportFrom) and node.module.startswith("dpgrs")
        for name in node.names
    }
    compiled = [
        node
        for node in body
        if isinstance(node, ast.FunctionDef)
        and any("compiled" in ast.unparse(by) or "njit" in ast.unparse(by) for by in node.decorator_list)
    ]
    names = names_in(*(statement for function in compiled for statement in function.body))
    constants = [node for node in body if isinstance(node, ast.Assign)]
    n_names = 0
    while n_names < len(names):
        n_names = len(names)
        names |= names_in(*(node.value for node in constants if names & names_in(*node.targets)))
    return {name: imported[name] for name in names & imported.keys()}


def test_kernels__take_of_other_modules_only_constants_that_stay():
    modules = {name: module for file in ALL_MODULES for name, module in taken_by_kernels(file).items()}
    values = {name: getattr(import_module(module), name) for name, module in modules.items()}
    assert values == KERNEL_CONSTANTS


def test_random_draws__come_through_few_doors():
    drawn = r"default_rng|np\.random|PCG64|\bimport random\b|from random|import secrets|from secrets|urandom"
    assert {name_of(module) for module in ALL_MODULES if re.search(drawn, module.read_text())} == RANDOM_DOORS


def test_samplers_and_key_streams__are_called_by_the_door_alone():
    callers = {
        name_of(module)
        for module in ALL_MODULES
        if re.search(
            r"from dpgrs\.privacy\.noise\.(samplers|stream) import|KeyStream\(|certified_set\(",
            module.read_text(),
        )
    }
    doors = {"privacy/noise/samplers.py", "privacy/noise/stream.py", "privacy/noise/canonical_lipschitz.py"}
    assert callers - doors == {"privacy/noise/sources.py"}


def test_release_noise__is_drawn_by_who_charges_or_audits():
    named = {name_of(module) for module in ALL_MODULES if "ReleaseNoise(" in module.read_text()}
    assert named == {"privacy/noise/sources.py", "privacy/ledger/charging.py", "steps/audit.py"}


def test_private_functions__name_their_event_and_proof():
    families = (PACKAGE / "privacy/accounting/events.py").read_text()
    found = 0
    for module in ALL_MODULES:
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("private_"):
                found += 1
                privacy = (ast.get_docstring(node) or "").partition("Privacy\n-------\n")[2]
                pages = re.findall(r"docs/proofs/\w+\.md", privacy)
                events = re.findall(r"\w+Event", privacy)
                assert pages, node.name
                assert events, node.name
                assert all((REPOSITORY / page).is_file() for page in pages)
                assert all(f"class {event}" in families for event in events)
    assert found >= 4


def may_have_sections(module, node):
    """Return whether a docstring keeps its sections: of the API, of a command, of a draw or of a kernel."""
    is_api = node.name in dpgrs.__all__ or name_of(module).startswith("api/")
    is_api |= name_of(module) == f"steps/{node.name}.py"  # its parameters are the help of the command
    is_draw = name_of(module) in DRAWS or "Privacy\n-------\n" in ast.get_docstring(node)
    return is_api or is_draw or module.name.endswith(KERNELS)


def lacks_types(module, function):
    """Return whether an argument or the result of a function has no annotation; kernels need none."""
    arguments = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    is_bare = any(node.annotation is None and node.arg not in ("self", "cls") for node in arguments)
    return (is_bare or function.returns is None) and not module.name.endswith(KERNELS)


def docstring_problems(module):
    """Yield the functions and classes of an annotated module that are not as they must be, and why."""
    tree = ast.parse(module.read_text())
    for node in (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))):
        text = ast.get_docstring(node) or ""
        if isinstance(node, ast.FunctionDef) and lacks_types(module, node):
            yield f"{name_of(module)}, {node.name}: an argument or the result has no type"
        if SECTION.search(text) and not may_have_sections(module, node):
            yield f"{name_of(module)}, {node.name}: has sections"
        if not text and node in tree.body and not node.name.startswith("_"):
            yield f"{name_of(module)}, {node.name}: has no docstring"
        if text and not re.match(r"[A-Z][^\0]*?[.:](\n\n|$)", text):
            yield f"{name_of(module)}, {node.name}: does not begin with a sentence"


def test_annotated_rooms__types_are_annotations_and_docstrings_are_short():
    modules = [module for module in ALL_MODULES if name_of(module).startswith(ANNOTATED)]
    assert len(modules) > 10
    assert [problem for module in modules for problem in docstring_problems(module)] == []


def codes_of_errors():
    """Yield (module, function, class, code, as source, message, as source) of each error that is made."""
    for module in ALL_MODULES:
        for function, error in errors_made(ast.parse(module.read_text())):
            yield name_of(module), function, error.func.id, *map(ast.unparse, error.args)


def test_errors__each_has_a_code():
    """It is literal, but where an error is worded anew or a function makes several."""
    codes = [(module, function, code) for module, function, _, code, _ in codes_of_errors()]
    assert len(codes) > 600
    literal = re.compile(r"'[a-z0-9]+(-[a-z0-9]+)+'|error\.code|code")
    assert [error for error in codes if not literal.fullmatch(error[2])] == []


def test_errors__a_code_has_one_exit_status():
    classes = {}
    for _, _, error_class, code, _ in codes_of_errors():
        if code.startswith("'"):
            classes.setdefault(code, set()).add(error_class)
    assert [code for code, of_code in classes.items() if len(of_code) > 1] == []


def test_errors__a_function_gives_each_of_its_messages_a_code():
    messages = {}
    for module, function, _, code, message in codes_of_errors():
        messages.setdefault((module, function, code), set()).add(message)
    assert [error for error, of_code in messages.items() if len(of_code) > 1] == []


@pytest.mark.parametrize("name", ["dpgrs", "simulation"])
def test_conda_environments__have_the_locked_versions(name):
    locked = dict(re.findall(r"^([\w.-]+)==([^ ;\\]+)", (REPOSITORY / "requirements.lock").read_text(), re.M))
    pinned = yaml.safe_load((REPOSITORY / "envs" / f"{name}.yaml").read_text())["dependencies"]
    own_names = {"matplotlib-base": "matplotlib", "python-isal": "isal"}  # of conda-forge
    for package, _, version in (entry.partition("=") for entry in pinned):
        if package != "python":
            assert locked[own_names.get(package, package)] == version, package


def test_rules__no_input_is_ancient():
    """Where a job is to run, Snakemake looks no further at what follows from it, though it leaves out what an
    ancient input alone leads to: other changes there are overlooked."""
    rules = (REPOSITORY / "workflow" / "rules").glob("*.smk")
    assert [path.name for path in rules if "ancient(" in path.read_text()] == []


def test_modules__stay_small():
    sources = [*ALL_MODULES, *(REPOSITORY / "tests").rglob("*.py"), *(REPOSITORY / "workflow").rglob("*.smk")]
    assert [path.name for path in sources if len(path.read_text().splitlines()) > 600] == []


@pytest.mark.parametrize("page", ["README.md", "docs/development.md"])
def test_pages__name_only_what_is_there(page):
    """A newcomer finds every module, folder and page that these name, from the root or in the package."""
    text = (REPOSITORY / page).read_text()
    rooms = "|".join([*ALLOWED, "workflow", "tests", "docs"])
    named = re.findall(rf"(?<![\w./])(?:{rooms})/[\w./*-]+(?![\w{{])", text)
    assert len(named) > 20
    found = [path.rstrip("./") for path in named]
    assert [path for path in found if not ((REPOSITORY / path).exists() or (PACKAGE / path).exists())] == []


def test_mutants__each_harmless_change_is_of_a_line_that_is_there():
    with (REPOSITORY / "tests" / "mutants" / "harmless.tsv").open(newline="") as file:
        changes = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    modules = {change["module"] for change in changes}
    code = {module: "".join((PACKAGE.parent / module).read_text().split()) for module in modules}
    assert [line for line in changes if "".join(line["was"].split()) not in code[line["module"]]] == []
