"""What the site adds to pages of reference: all keys by the schema, all commands by the command line."""

import json
import re

import click

from dpgrs.cli.main import main
from dpgrs.study.implied_settings import IMPLIED
from dpgrs.study.settings import domain, load_schema
from dpgrs.study.verbs import verb_names

NOT_IMPLIED = object()  # null is a default, too
STEPS = """## Steps of the workflow

A step is a command, too: it reads files, and writes files. `snakemake --printshellcmds` shows how they are
called.
"""


def add_reference(app, docname, source):
    """Append what a page of reference is about."""
    if made := {"docs/reference/settings": settings, "docs/reference/commands": commands}.get(docname):
        source[0] += "\n" + "\n".join(made())


def settings():
    """Yield the lines on each section of the settings, and on each of its keys."""
    sections, alone = parted(load_schema())
    yield from ["## Study", "", *(line for name, part in alone.items() for line in key(name, part))]
    for name, part in sections.items():
        yield from section(name, part)


def section(path, schema, heading="##"):
    """Yield the lines on a section, its keys, and the sections in it."""
    yield from [f"{heading} `{path}`", "", words(schema["description"]), ""]
    sections, alone = parted(schema)
    for name, part in alone.items():
        yield from key(f"{path}.{name}", part)
    for name, part in sections.items():
        yield from section(f"{path}.{name}", part, "###")


def parted(schema):
    """Return the sections of a schema, and its keys."""
    found = schema["properties"]
    sections = {name: part for name, part in found.items() if "properties" in part}
    return sections, {name: part for name, part in found.items() if name not in sections}


def key(name, schema):
    """Return the lines on a key."""
    default, example = as_yaml(schema["default"]), as_yaml(schema["examples"][0])
    values = domain(schema)
    known = f"{values[0].upper()}{values[1:]}. Default: `{default}`. Example: `{example}`.{implied(name)}"
    return [f"### `{name}`", "", words(schema["description"]), "", known, ""]


def implied(name):
    """Return the defaults of a key that follow from other settings, in words."""
    *section, last = name.split(".")
    found = {
        setting: (defaults.get(section[0], {}) if section else defaults).get(last, NOT_IMPLIED)
        for setting, defaults in IMPLIED.items()
    }
    return "".join(
        f" With `{setting}` the default is `{as_yaml(value)}`."
        for setting, value in found.items()
        if value is not NOT_IMPLIED
    )


def as_yaml(value):
    """Return a value as a file of settings has it."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def words(text):
    """Return a description on one line, with links to the pages that it names."""
    return re.sub(r"docs/([\w-]+)/([\w-]+)\.md", r"[\2](../\1/\2.md)", " ".join(text.split()))


def commands():
    """Yield the help of all commands, those for people first."""
    steps = set(verb_names())
    context = click.Context(main, info_name="dpgrs")
    names = main.list_commands(context)
    for heading, chosen in (("## For people\n", set(names) - steps), (STEPS, steps)):
        yield heading
        for name in sorted(chosen):
            yield from helps(main.get_command(context, name), context, name)


def helps(command, parent, name):
    """Yield the help of a command, and of those of its group."""
    context = click.Context(command, info_name=name, parent=parent, max_content_width=100)
    yield from [f"### `{context.command_path}`", "", "```text", command.get_help(context), "```", ""]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from helps(command.get_command(context, inner), context, inner)


def setup(app):
    app.connect("source-read", add_reference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
