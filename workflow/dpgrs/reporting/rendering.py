"""What the pages of all studies share: where they lie, and how templates and figures become files."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from dpgrs.io.files import replacing
from dpgrs.reporting.svg import inline_svg
from dpgrs.reporting.terms import (
    format_bound,
    format_count,
    format_r2,
    format_scientific,
    format_signed,
    plural,
    typeset,
)

TEMPLATES = Path(__file__).parent / "templates"
ASSETS = ("report.css", "report.js")
MIN_CHUNK_SIZE = 100
MAX_CHUNKS = 20


class Chunk(NamedTuple):
    """Outcome pages that one folder holds: numbers `first` to `last`, from 1, both included."""

    name: str
    first: int
    last: int


def chunks(n_outcomes):
    """Share out outcome pages to at most `MAX_CHUNKS` folders of at least `MIN_CHUNK_SIZE` pages.

    Parameters
    ----------
    n_outcomes : int

    Returns
    -------
    list of Chunk; only the last may be smaller.
    """
    size = max(MIN_CHUNK_SIZE, -(-n_outcomes // MAX_CHUNKS))
    firsts = range(1, n_outcomes + 1, size)
    return [
        Chunk(f"{place:02d}", first, min(first + size - 1, n_outcomes))
        for place, first in enumerate(firsts, start=1)
    ]


def page_name(number):
    """Return the file name of an outcome's page; `number` counts from 1."""
    return f"outcome_{number:04d}.html"


def outcome_links(n_outcomes, start):
    """Return, by number, the address of every outcome page.

    Parameters
    ----------
    n_outcomes : int
    start : str, address of the folder of all chunks: ``outcomes/`` from the overview, ``../`` from a page.
    """
    return {
        number: f"{start}{chunk.name}/{page_name(number)}"
        for chunk in chunks(n_outcomes)
        for number in range(chunk.first, chunk.last + 1)
    }


def inline_figure(figure, name, label):
    """Return a figure as a part of a page; `label` is for readers who do not see it."""
    return Markup(inline_svg(figure, prefix=name, label=label))


def write_assets(directory):
    """Write the style and the script of all pages into the folder of a report; it is made if absent."""
    (directory / "assets").mkdir(parents=True, exist_ok=True)
    for name in ASSETS:
        _write(directory / "assets" / name, (TEMPLATES / name).read_text(encoding="utf-8"))


def write_page(path, template, **context):
    """Fill in a template and write it."""
    _write(path, _environment().get_template(template).render(context))


@cache
def _environment():
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "bound": format_bound,
        "count": format_count,
        "r2": format_r2,
        "scientific": format_scientific,
        "signed": format_signed,
        "plural": plural,
        "typeset": typeset,
    }
    return environment


def _write(path, text):
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
