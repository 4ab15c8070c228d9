"""The verbs of the workflow: each is one file of `steps`, and what it takes is the signature of its function.

Rules and the command line ask for all of it whenever they start, so files are read as text and nothing is
imported.
"""

import ast
import json
import re
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from dpgrs.study.code import PACKAGE, code_digest

READS, RESTS_ON, WRITES = "READS", "RESTS_ON", "WRITES"
PROGRESS, BEFORE_CHARGE = "progress", "before_charge"
NEEDED = object()  # the default of what must be given


@dataclass(frozen=True)
class Parameter:
    """One thing that a verb takes, beside the settings.

    Attributes
    ----------
    name : str
    kind : str, its annotation, such as ``Path``, ``list[Path]`` or ``int``.
    is_argument : bool, whether it is told by its place rather than by its name.
    default : any; `NEEDED` where there is none.
    help : str, what the docstring says of it.
    """

    name: str
    kind: str
    is_argument: bool
    default: object
    help: str


@dataclass(frozen=True)
class Verb:
    """A step as the command line shows it.

    Attributes
    ----------
    name : str, such as ``fit-weights``, which is ``fit_weights`` of ``steps/fit_weights.py``.
    summary : str, what it does, from its docstring.
    parameters : tuple of Parameter
    reads : tuple of str, dotted keys of the settings, or of whole sections, on which its results hang.
    rests_on : tuple of str, names of the files that a release is charged for or published from: its settings
        must have made them (`dpgrs.study.made_by`).
    writes : tuple of str, names of the files that it writes and others are made from.
    shows_progress : bool, whether it takes `progress`.
    charges : bool, whether it takes `before_charge`, a function that refuses once all files are read.
    """

    name: str
    summary: str
    parameters: tuple
    reads: tuple
    rests_on: tuple
    writes: tuple
    shows_progress: bool
    charges: bool

    @property
    def module(self):
        """Its file, from the folder of the package on."""
        return module_of(self.name)


def module_of(verb):
    """Return the file of a verb."""
    return f"steps/{verb.replace('-', '_')}.py"


def verb_names():
    """List the names of all verbs: what a step of its file's name takes is `settings`, or annotated."""
    files = sorted((PACKAGE / "steps").glob("[!_]*.py"))
    verb = r"^def {}\(\s*(settings\b|\w+:)"
    found = (file for file in files if re.search(verb.format(file.stem), file.read_text(), re.MULTILINE))
    return [file.stem.replace("_", "-") for file in found]


@cache
def read_verb(name):
    """Read what a verb takes, and which settings it reads.

    Parameters
    ----------
    name : str, one of `verb_names`.

    Returns
    -------
    Verb
    """
    tree = ast.parse((PACKAGE / module_of(name)).read_text(encoding="utf-8"))
    own, said = name.replace("-", "_"), {READS: (), RESTS_ON: (), WRITES: ("output",)}
    for node in tree.body:
        if isinstance(node, ast.Assign) and (constant := ast.unparse(node.targets[0])) in said:
            said[constant] = ast.literal_eval(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name == own:
            function = node
    summary, helps = _read_docstring(ast.get_docstring(function))
    names = [one.arg for one in function.args.kwonlyargs]
    takes = [name in names for name in (PROGRESS, BEFORE_CHARGE)]
    return Verb(name, summary, tuple(_parameters(function.args, helps)), *said.values(), *takes)


def settings_read(settings, verb, keys=None, *, instead=MappingProxyType({})):
    """Return the settings that a verb reads, as it takes them; a rule runs again when they change.

    Parameters
    ----------
    settings : StudyConfig
    verb : str
    keys : sequence of str, those that one job reads; None means all.
    instead : dict of sections that take the place of the study's.

    Returns
    -------
    str, JSON.
    """
    return json.dumps(part_of(settings.as_dict() | instead, keys or read_verb(verb).reads))


def code_read(verb):
    """Return the digest of the code that a verb runs."""
    return code_digest(module_of(verb))


def part_of(settings, keys):
    """Return nested settings with some keys alone.

    Parameters
    ----------
    settings : dict
    keys : sequence of str, dotted; of a section all keys are taken.

    Returns
    -------
    dict
    """
    part = {}
    for key in keys:
        *sections, name = key.split(".")
        inner = part
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[name] = _value(settings, key)
    return part


def _value(settings, key):
    for name in key.split("."):
        settings = settings[name]
    return settings


def _parameters(arguments, helps):
    """Yield what is annotated: the command line gives the settings, and whether to show progress, itself."""
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    by_place = zip(arguments.args, defaults, strict=True)
    by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    for is_argument, group in ((True, by_place), (False, by_name)):
        for one, default in group:
            if one.annotation is not None:
                value = NEEDED if default is None else ast.literal_eval(default)
                yield Parameter(one.arg, ast.unparse(one.annotation), is_argument, value, helps[one.arg])


def _read_docstring(text):
    """Return the first sentence of a docstring, and what it says of each parameter."""
    helps = {}
    for names, said in re.findall(r"^(\w+(?:, \w+)*) : (.*(?:\n    .*)*)", text, flags=re.MULTILINE):
        helps |= dict.fromkeys(names.split(", "), " ".join(said.split()))
    return text.partition("\n")[0], helps
