"""The code that a step runs: its module, all imports of it, and the templates and schemas that they read."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from dpgrs.plugins import points
from dpgrs.selection.registry import SELECTORS
from dpgrs.statement.methods import METHODS

PACKAGE = Path(__file__).resolve().parents[1]
# Beside the package in a clone; `setup.py` puts it, and the rules, below the package of a wheel.
BESIDE, BELOW = PACKAGE.parent / "Snakefile", PACKAGE / "clone" / "workflow" / "Snakefile"
SNAKEFILE = BELOW if BELOW.is_file() else BESIDE
# Every job reads every module that a rule may reach: a syntax tree of each would take half a second.
# A comment in parentheses may have one of its own, and a line may go on.
IMPORT = re.compile(
    r"^[ \t]*(?:from ([.\w]+) import (\((?:#.*|[^)#])*\)|(?:.*\\\n)*.*)|import (.+))", flags=re.MULTILINE
)
# Imported for annotations only: it never runs.
FOR_ANNOTATIONS = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t].*\n|\n)+", flags=re.MULTILINE)
TEXT = re.compile(r'"([\w./]+)"')
# A row of this package names a class so.
PLACE = re.compile(r'"(\w+(?:\.\w+)*):\w+"')
# The functions that load the class of a row, and the modules of the package with the rows.
DOORS = {
    "fitter_of": "statement/methods.py",
    "drawn_first": "methods/registry.py",
    "later_draws_of": "study/later_draws.py",
    "chooser_of": "selection/registry.py",
}


def code_digest(*modules: str, package: Path = PACKAGE) -> str:
    """Digest the code that a rule runs, so that an update of this code reruns it, and no other update does.

    A module is given relative to the package, such as ``"steps/fit.py"``, or by its path if it is of another
    package that adds to this one. Imports inside functions count as well; a module that imports one of
    `DOORS` reaches all that the rows of its registry name. A file that is no module counts if a
    module has its path, or the path of its folder, below the package as one text. A module that is absent is
    a FileNotFoundError; the digest has 16 hexadecimal digits.
    """
    return _digest(reached_files(*modules, package=package), package)


def package_digest(package: Path = PACKAGE) -> str:
    """Digest all code, as `code_digest` digests the code of a rule."""
    return _digest({file for file in package.rglob("*") if _is_source(file)}, package)


def reached_files(*modules: str, package: Path = PACKAGE) -> set[Path]:
    """Return the files that modules, as in `code_digest`, run and read, the modules among them."""
    reached, waiting = set(), {package / module for module in modules}
    while waiting:
        file = waiting.pop()
        reached.add(file)
        waiting |= _named_in(file, package) - reached
    return reached


@cache
def _named_in(file: Path, package: Path) -> frozenset[Path]:
    """Return the files that a module imports or reads."""
    if file.suffix != ".py":
        return frozenset()
    packages = {"dpgrs": package} | _plugins()
    text, named = FOR_ANNOTATIONS.sub("", file.read_text(encoding="utf-8")), set()
    for source, names, imported in IMPORT.findall(text):
        for module in [source] if source else re.findall(r"(?:^|,)\s*([.\w]+)", imported):
            if (module_path := _module_path(module, packages, file=file)) is None:
                continue
            # An imported name is a module, or stands in one.
            module_paths = [module_path, *(module_path / name for name in re.findall(r"\w+", names))]
            named |= {path for candidate in module_paths for path in _files_of(candidate)}
            for door in DOORS.keys() & {*re.findall(r"\w+", names)}:
                rows = (package / DOORS[door]).read_text(encoding="utf-8")
                named |= _files_of_modules({*PLACE.findall(rows), *_modules_of_rows()}, packages)
    texts = {literal for literal in TEXT.findall(text) if "/" in literal or literal.isidentifier()}
    [home] = [root for root in packages.values() if file.is_relative_to(root)] or [file]
    named |= {path for path, tails in _other_files(home).items() if tails & texts}
    return frozenset(path for path in named if path.is_file())


def _module_path(module: str, packages: Mapping[str, Path], *, file: Path | None = None) -> Path | None:
    """Return the path of a module without its ending; None if its package does not count.

    `file` imports it, perhaps relatively.
    """
    if n_dots := len(module) - len(module.lstrip(".")):
        return file.parents[n_dots - 1].joinpath(*module[n_dots:].split("."))
    top, *below = module.split(".")
    return packages[top].joinpath(*below) if top in packages else None


def _files_of(module_path: Path) -> tuple[Path, Path]:
    return (module_path.with_suffix(".py"), module_path / "__init__.py")


@cache
def _plugins() -> dict[str, Path]:
    """Map the names of other packages that add rows or commands to their paths, as from `_module_path`.

    Those that their rows name are among them: a module of rows may stand beside the module of its code.
    """
    modules = {point.module for point in points("commands")} | _modules_of_rows()
    tops = {module.partition(".")[0] for module in modules} - {"dpgrs"}
    origins = {name: Path(spec.origin) for name in sorted(tops) if (spec := find_spec(name))}
    return {
        name: origin.parent if origin.stem == "__init__" else origin.with_suffix("")
        for name, origin in origins.items()
    }


@cache
def _modules_of_rows() -> set[str]:
    """Return the modules of other packages that hold rows, and those with the code of the rows."""
    modules = set()
    for kind, rows in (("methods", METHODS), ("selectors", SELECTORS)):
        for point in points(kind):
            code = rows[point.name].code or point.module  # the references of a study have none
            modules |= {point.module, code.partition(":")[0]}
    return modules


def _files_of_modules(modules: Iterable[str], packages: Mapping[str, Path]) -> set[Path]:
    module_paths = (_module_path(module, packages) for module in modules)
    return {file for module_path in module_paths if module_path for file in _files_of(module_path)}


@cache
def _other_files(package: Path) -> dict[Path, set[str]]:
    """Map every file that is no module to the ends of its path and of its folder's path: code names it so."""
    files = {}
    for path in package.rglob("*"):
        if _is_source(path) and path.suffix != ".py":
            path_names = path.relative_to(package).parts
            folders = path_names[:-1]
            files[path] = {"/".join(path_names[start:]) for start in range(len(folders))}
            files[path] |= {"/".join(folders[start:]) for start in range(len(folders))}
    return files


def _is_source(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts


def _digest(files: Iterable[Path], package: Path) -> str:
    digest = hashlib.sha256()
    for name, file in sorted((_name(file, package), file) for file in files):
        digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def _name(file: Path, package: Path) -> str:
    """Return the name of a file below the package, or below the folder of another package."""
    roots = [package, *(plugin_package.parent for plugin_package in _plugins().values())]
    return next((file.relative_to(root).as_posix() for root in roots if file.is_relative_to(root)), file.name)
