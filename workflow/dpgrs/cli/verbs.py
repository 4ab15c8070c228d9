"""The verbs of the workflow as commands: made from the signatures and docstrings of the steps."""

import importlib
import json
from pathlib import Path

import click

from dpgrs.study.verbs import NEEDED, read_verb

KINDS = {
    "Path": click.Path(path_type=Path),
    "int": click.IntRange(min=1),
    "str": click.STRING,
    "bool": click.BOOL,
}
OUTPUT = "output"  # what a verb names its main product
GENOTYPES = "genotypes"  # what a verb names the user's genotype files
HOW = "Study file (YAML), or the settings.json of a finished study. Default: the demo study."


def command_of(name):
    """Make the command of a verb.

    Parameters
    ----------
    name : str, one of `dpgrs.study.verbs.verb_names`.

    Returns
    -------
    click.Command. Only when it runs is its step imported.
    """
    verb = read_verb(name)

    @click.pass_obj
    def run(context, **given):
        from dpgrs.study.input_files import content_marks, require_unchanged
        from dpgrs.study.made_by import note, require_made_by, settings_along, study_of
        from dpgrs.study.step_settings import load_settings

        step = getattr(importlib.import_module(f"dpgrs.steps.{_own(name)}"), _own(name))
        settings = load_settings(given.pop("settings"), name) if verb.reads else None
        files, output = _files(verb, given), given.get(OUTPUT)
        if verb.charges_for and settings.mode == "release":
            held = [path for one in verb.charges_for for path in files.get(one, [])]
            require_made_by(settings, held)
        made, marks, study = None, {}, None
        if output is not None:
            study, everything = study_of(output), [path for paths in files.values() for path in paths]
            if study is not None:
                genotypes = files.get(GENOTYPES, [])
                marks = content_marks(settings, everything, study=study, genotypes=genotypes)
            made = settings_along(settings, everything, output=output, marks=marks)
            note(output, None)
        places = [given.pop(one.name) for one in verb.parameters if one.is_argument]
        if verb.reads:
            places.insert(0, settings)
        if verb.shows_progress:
            given["progress"] = False if context["quiet"] else None
        found = step(*places, **given)
        if output is not None:
            require_unchanged({key: [mark] for key, mark in marks.items()}, study=study)
            note(output, made)
        if found is not None:
            click.echo(json.dumps(found), err=True)  # counts, which the rules keep as a log

    options = [_option(one) for one in verb.parameters]
    if verb.reads:
        options.insert(0, click.Option(["--settings"], metavar="FILE", help=HOW))
    return click.Command(name, callback=run, params=options, help=verb.summary)


def _files(verb, given):
    """Return the files that a verb is given to read, a dict of lists by name."""
    names = [one.name for one in verb.parameters if "Path" in one.kind and one.name != OUTPUT]
    found = {name: given[name] for name in names if given[name]}
    return {name: [*paths] if isinstance(paths, tuple) else [paths] for name, paths in found.items()}


def _own(name):
    return name.replace("-", "_")


def _option(parameter):
    """Return the argument or the option of one thing that a verb takes."""
    kind, name = parameter.kind.removesuffix(" | None"), parameter.name
    is_list = kind.startswith("list[")
    own = KINDS[kind.removeprefix("list[").removesuffix("]")]
    if parameter.is_argument:
        needed = parameter.default is NEEDED
        return click.Argument([name], type=own, nargs=-1 if is_list else 1, required=needed)
    flag = f"--{name.replace('_', '-')}"
    said = parameter.help[:1].upper() + parameter.help[1:]
    if kind == "bool":
        return click.Option([flag, name], is_flag=True, default=parameter.default, help=said)
    needed = parameter.default is NEEDED
    default = None if needed or is_list else parameter.default
    said = f"{said} May be repeated." if is_list else said
    return click.Option([flag, name], type=own, multiple=is_list, required=needed, default=default, help=said)
