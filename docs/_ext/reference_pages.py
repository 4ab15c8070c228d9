"""Write the pages of reference that are made from the program: all settings, and all commands.

`make reference` runs it; a test compares the pages with what it would write.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from dpgrs.cli.main import STEPS, main
from dpgrs.study.setting_help import SettingHelp, describe_sections, describe_settings

FOLDER = Path(__file__).parents[1] / "reference"
MADE = "<!-- Made by `make reference`: change the program, then run it. -->\n"
SETTINGS = """# Settings

All settings of a study, with the values that each takes, its default and an example.
`dpgrs settings KEY` prints the same. How to write a file of settings:
[config/README.md](../../config/README.md).
"""
COMMANDS = """# Commands

What `dpgrs COMMAND --help` prints for each command.
`dpgrs run` and `dpgrs demo` pass their options to Snakemake.
"""
STEPS_NOTE = """Snakemake calls these commands: each reads files, and writes files.
`snakemake --printshellcmds` prints the calls.
"""


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    return {
        "settings.md": "\n".join([MADE, SETTINGS, *settings()]),
        "commands.md": "\n".join([MADE, COMMANDS, *commands()]),
    }


def settings() -> Iterator[str]:
    """Yield the lines on each section of the settings, and on each of its keys."""
    described = describe_settings()
    yield from ["## Study", "", *section_lines("", described)]
    for section, description in describe_sections():
        heading = "##" if "." not in section else "###"
        yield from [f"{heading} `{section}`", "", with_links(description), ""]
        yield from section_lines(section, described)


def section_lines(section: str, described: list[SettingHelp]) -> Iterator[str]:
    """Yield the lines on the keys of a section."""
    for setting in described:
        if setting.key.rpartition(".")[0] == section:
            yield from [f"### `{setting.key}`", "", with_links(setting.description), "", setting.facts, ""]


def with_links(text: str) -> str:
    """Return a description with links to the pages that it names."""
    return re.sub(r"docs/([\w-]+)/([\w-]+)\.md", r"[\2](../\1/\2.md)", text)


def commands() -> Iterator[str]:
    """Yield the help of all commands, by the sections of `dpgrs --help`."""
    # The page must not depend on the width of a terminal.
    context = click.Context(main, info_name="dpgrs", terminal_width=98, **main.context_settings)
    for heading, names in main.sections().items():
        yield from [f"## {heading}", ""]
        if heading == STEPS:
            yield STEPS_NOTE
        for name in names:
            yield from help_lines(main.get_command(context, name), context, name)


def help_lines(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    """Yield the help of a command, and of those of its group."""
    context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
    yield from [f"### `{context.command_path}`", "", "```text", command.get_help(context), "```", ""]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from help_lines(command.get_command(context, inner), context, inner)


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
