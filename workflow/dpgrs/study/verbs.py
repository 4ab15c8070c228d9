"""The verbs of the workflow: each is one file of `steps`, and what it takes is the signature of its function.

Rules and the command line ask for all of it whenever they start, so files are read as text and nothing is
imported.
"""

import ast
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dpgrs.study.code import PACKAGE, code_digest

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS, RESTS_ON, WRITES = "READS", "RESTS_ON", "WRITES"
PROGRESS, BEFORE_CHARGE, STUDY_SETTINGS = "progress", "before_charge", "study_settings"
NEEDED = object()  # the default of what must be given


@dataclass(frozen=True)
class Parameter:
    """One parameter of a verb, beside the settings."""

    name: str
    kind: str  # its annotation, such as Path, list[Path] or int
    is_argument: bool  # whether it is given by position rather than by name
    default: object  # `NEEDED` if there is none
    help: str  # its description in the docstring


@dataclass(frozen=True)
class Verb:
    """A step as the command line shows it."""

    name: str  # such as fit-weights, which is `fit_weights` of steps/fit_weights.py
    summary: str  # first sentence of its docstring
    parameters: tuple[Parameter, ...]
    reads: tuple[str, ...]  # dotted keys of the settings, or of whole sections, on which its results depend
    # Names of the files that a release is charged for or published from: its settings must have made them
    # (`dpgrs.study.made_by`).
    rests_on: tuple[str, ...]
    writes: tuple[str, ...]  # names of the files that it writes and others are made from
    shows_progress: bool  # whether it takes `progress`
    charges: bool  # whether it takes `before_charge`, a function that refuses once all files are read
    takes_study: bool  # whether it takes `study_settings`, all settings of the study that runs

    @property
    def module(self) -> str:
        """The path of its file below the package."""
        return module_of(self.name)


def module_of(verb: str) -> str:
    """Return the file of a verb."""
    return f"steps/{verb.replace('-', '_')}.py"


def verb_names() -> list[str]:
    """List the names of all verbs: of files with a function of their name that takes settings or files."""
    files = sorted((PACKAGE / "steps").glob("[!_]*.py"))
    verb = r"^def {}\(\s*(settings\b|\w+:)"
    step_files = (file for file in files if re.search(verb.format(file.stem), file.read_text(), re.MULTILINE))
    return [file.stem.replace("_", "-") for file in step_files]


@cache
def read_verb(name: str) -> Verb:
    """Read the parameters of a verb, one of `verb_names`, and the settings that it reads."""
    tree = ast.parse((PACKAGE / module_of(name)).read_text(encoding="utf-8"))
    function_name, constants = name.replace("-", "_"), {READS: (), RESTS_ON: (), WRITES: ("output",)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and (constant := ast.unparse(node.targets[0])) in constants:
            constants[constant] = ast.literal_eval(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name == function_name:
            function = node
    summary, helps = _read_docstring(ast.get_docstring(function))
    names = [argument.arg for argument in function.args.kwonlyargs]
    takes = [name in names for name in (PROGRESS, BEFORE_CHARGE, STUDY_SETTINGS)]
    return Verb(name, summary, tuple(_parameters(function.args, helps)), *constants.values(), *takes)


def settings_read(
    settings: "StudyConfig",
    verb: str,
    keys: Sequence[str] | None = None,
    *,
    instead: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Return the settings that a verb reads, as JSON; a rule runs again when they change.

    `keys` are those that one job reads, None means all; sections of `instead` replace the study's.
    """
    return json.dumps(part_of(settings.as_dict() | instead, keys or read_verb(verb).reads))


def code_read(verb: str) -> str:
    """Return the digest of the code that a verb runs."""
    return code_digest(module_of(verb))


def part_of(settings: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return nested settings with only some dotted keys; the key of a section takes all of it."""
    selected = {}
    for key in keys:
        *sections, name = key.split(".")
        inner = selected
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[name] = _value(settings, key)
    return selected


def _value(settings: Any, key: str) -> Any:
    for name in key.split("."):
        settings = settings[name]
    return settings


def _parameters(arguments: ast.arguments, helps: Mapping[str, str]) -> Iterator[Parameter]:
    """Yield the parameters but those that the command line itself gives."""
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    by_place = zip(arguments.args, defaults, strict=True)
    by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    for is_argument, group in ((True, by_place), (False, by_name)):
        for argument, default in group:
            kind = ast.unparse(argument.annotation)
            if argument.arg not in (PROGRESS, BEFORE_CHARGE) and "StudyConfig" not in kind:
                value = NEEDED if default is None else ast.literal_eval(default)
                yield Parameter(argument.arg, kind, is_argument, value, helps[argument.arg])


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the first sentence of a docstring, and its description of each parameter."""
    helps = {}
    for names, description in re.findall(r"^(\w+(?:, \w+)*) : (.*(?:\n    .*)*)", text, flags=re.MULTILINE):
        helps |= dict.fromkeys(names.split(", "), " ".join(description.split()))
    return text.partition("\n")[0], helps


def flags(**options: Any) -> str:
    """Write options as flags of the command line, quoted for a shell.

    A list repeats its flag, True gives only the flag, None and False leave it out. Snakemake finds no
    wildcard in the text: a shell reads ``{''x}`` as ``{x}``.

    >>> flags(size=[10, 20], is_release=True, count=None, table="my table.tsv")
    "--size 10 --size 20 --is-release --table 'my table.tsv'"
    """
    words = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        for item in value if isinstance(value, list | tuple) else [value]:
            if item is True:
                words.append(flag)
            elif item is not None and item is not False:
                words += [flag, re.sub(r"{(?=\s*[.\w])", "{''", shlex.quote(str(item)))]
    return " ".join(words)
