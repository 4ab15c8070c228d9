"""What the pages of all studies share: where they lie, and how their sections and figures become files."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from dpgrs.io.files import replacing
from dpgrs.reporting.svg import draw_svg, inline_svg, save_svg
from dpgrs.reporting.terms import (
    ACCOUNTING_NAMES,
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
PLACES = "variants.js"
MIN_CHUNK_SIZE = 100
MAX_CHUNKS = 20
# Of as many outcomes figures are kept as files; Snakemake's report would hold thousands otherwise.
MAX_FIGURED = 10
STAMP = "benchmark: not private"


class Drawing(NamedTuple):
    """A figure of a section, a Picture or a matplotlib Figure, and a label for readers who do not see it."""

    figure: object
    label: str


class Section(NamedTuple):
    """A part of pages on one topic.

    Attributes
    ----------
    title : str, its heading.
    template : str, a file of ``templates/sections``, or a jinja2.Template; it knows the context and what all
        pages share.
    context : function of the study's data that returns what is shown as a dict, its figures as a dict of name
        to `Drawing` in it, or None where there is nothing to show. On the pages of outcomes it returns such a
        function of an outcome's index, or None. Pages with figures of matplotlib are written within `styled`.
    anchor : str, its id on a page; None where nothing leads to it.
    label : str, its name among the links of the page; default: the title.
    category : str, of its figures in Snakemake's report; default: the label.
    """

    title: str
    template: str
    context: Callable
    anchor: str | None = None
    label: str | None = None
    category: str | None = None

    @property
    def name(self):
        """Its label, or the title."""
        return self.label or self.title


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


def write_assets(directory, places=None):
    """Write what all pages share into the folder of a report: their style, their script, places of variants.

    Parameters
    ----------
    directory : folder of the report; made if absent.
    places : str, as from `dpgrs.reporting.outcome_figures.shared_places`, or None.
    """
    (directory / "assets").mkdir(parents=True, exist_ok=True)
    for name in ASSETS:
        _write(directory / "assets" / name, (TEMPLATES / name).read_text(encoding="utf-8"))
    if places:
        # A script, since a page on a disk may read no other file.
        _write(directory / "assets" / PLACES, f'window.variantPlaces = "{places}";\n')


def same_for_all(context):
    """Return the context, on the pages of outcomes, of a section that is the same on all of them."""

    def prepare(data):
        found = context(data)
        return lambda outcome: found

    return prepare


def write_page(path, template, sections, subject, *, shared, figures=None, prefix="", others=None, **head):
    """Write a page of those sections that have something to show.

    Parameters
    ----------
    path : file to write.
    template : str or jinja2.Template, that of the head of the page.
    sections : list of Section.
    subject : what their contexts take.
    shared : dict, what the head and all sections know; ``mode`` and ``root`` among it.
    figures : folder for files of the figures too, by category; None: write none.
    prefix : str, of the names of these files, which must differ between all pages.
    others : dict of address to name of pages that the head links after the sections; None for a head without
        links.
    **head : what the head knows beside this.
    """
    bodies, stamp = [], STAMP if shared["mode"] == "benchmark" else ""
    for section in sections:
        context = section.context(subject)
        if context is None:
            continue
        drawings, drawn = context.get("figures", {}), {}
        for name, (figure, label) in drawings.items():
            svg = draw_svg(figure, is_packed=True)
            drawn[name] = Markup(inline_svg(svg, prefix=name, label=label))
            if figures:
                folder = figures / (section.category or section.name)
                # A file has no script beside it.
                whole = draw_svg(figure) if "data-bars" in svg else svg
                save_svg(whole, folder / f"{prefix}{name}.svg", words=stamp)
        known = shared | context | {"figures": drawn}
        text = environment().get_template(section.template).render(known)
        bodies.append((section, Markup(text)))
    links = [] if others is None else [(f"#{section.anchor}", section.name) for section, _ in bodies]
    links += (others or {}).items()
    _write(path, environment().get_template(template).render(shared | head, sections=bodies, links=links))


def outcome_pages(template, sections, data, *, shared, head, figures=None):
    """Prepare what the pages of all outcomes share, once.

    Parameters
    ----------
    template, sections, shared, figures : as in `write_page`; figures of the first `MAX_FIGURED` outcomes.
    data : what the sections take, with `outcomes`.
    head : function of an outcome's index that returns what the head of its page knows beside this.

    Returns
    -------
    function of `first` and `last`, numbers of outcomes from 1, both included, and of the folder of their
    `Chunk`, ``<report>/outcomes/<chunk name>``, made if absent. It writes ``outcome_0001.html`` ... there.
    """
    links = outcome_links(len(data.outcomes), "../")
    views = [(section, section.context(data)) for section in sections]
    sections = [section._replace(context=view) for section, view in views if view is not None]

    def write(first, last, directory):
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        for number in range(first, last + 1):
            path = directory / page_name(number)
            write_page(
                path,
                template,
                sections,
                number - 1,
                shared=shared,
                figures=figures if number <= MAX_FIGURED else None,
                prefix=f"{path.stem}_",
                outcome_number=number,
                name=data.outcomes[number - 1],
                previous=links.get(number - 1),
                next=links.get(number + 1),
                **head(number - 1),
            )

    return write


@cache
def environment():
    """Return what makes pages of templates."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES, TEMPLATES / "sections"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "bound": format_bound,
        "count": format_count,
        "r2": format_r2,
        "scientific": format_scientific,
        "signed": format_signed,
        "plural": plural,
        "typeset": typeset,
    }
    macros = vars(made.get_template("macros.html").module)
    made.globals |= {name: macro for name, macro in macros.items() if not name.startswith("_")}
    made.globals["accounting_names"] = ACCOUNTING_NAMES
    return made


def _write(path, text):
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
