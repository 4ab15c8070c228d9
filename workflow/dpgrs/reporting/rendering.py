"""What the pages of all studies share: where they lie, and how their sections and figures become files."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup
from matplotlib.figure import Figure

from dpgrs.io.files import replacing
from dpgrs.reporting.svg import inline_svg, save_svg, styled
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
MIN_CHUNK_SIZE = 100
MAX_CHUNKS = 20
# Of as many outcomes figures are kept as files; Snakemake's report would hold thousands otherwise.
MAX_FIGURED = 10
OUTCOMES = "Outcomes"


class Drawing(NamedTuple):
    """A figure of a section, and a label for readers who do not see it."""

    figure: Figure
    label: str


class Section(NamedTuple):
    """A part of pages on one topic.

    Attributes
    ----------
    title : str, its heading.
    template : str, a file of ``templates/sections``, which knows the context and what all pages share.
    context : function of the study's data that returns what is shown as a dict, its figures as a dict of name
        to `Drawing` in it, or None where there is nothing to show. On the pages of outcomes it returns such a
        function of an outcome's index, or None. Figures are drawn within `styled`.
    anchor : str, its id on a page; None where nothing leads to it.
    label : str, its name among the links of the page, and the category of its figures; default: the title.
    """

    title: str
    template: str
    context: Callable
    anchor: str | None = None
    label: str | None = None

    @property
    def name(self):
        return self.label or self.title


class FigureFolder(NamedTuple):
    """Where figures are kept as files, for Snakemake's report.

    Attributes
    ----------
    path : pathlib.Path, with a folder for every category.
    words : str, printed into the corner of each: a figure may travel without its study.
    category : str, of all figures of a page; default: the names of their sections.
    prefix : str, of the names of the files, which are unique in all categories together.
    """

    path: Path
    words: str
    category: str | None = None
    prefix: str = ""


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
    return f"{_stem(number)}.html"


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


def write_assets(directory):
    """Write the style and the script of all pages into the folder of a report; it is made if absent."""
    (directory / "assets").mkdir(parents=True, exist_ok=True)
    for name in ASSETS:
        _write(directory / "assets" / name, (TEMPLATES / name).read_text(encoding="utf-8"))


def same_for_all(context):
    """Return the context, on the pages of outcomes, of a section that is the same on all of them."""

    def prepare(data):
        found = context(data)
        return lambda outcome: found

    return prepare


def write_page(path, template, sections, subject, *, shared, figures=None, others=None, **head):
    """Write a page of those sections that have something to show.

    Parameters
    ----------
    path : file to write.
    template : str, that of the head of the page.
    sections : list of Section.
    subject : what their contexts take.
    shared : dict, what the head and all sections know.
    figures : FigureFolder, or None: keep none.
    others : dict of address to name of pages that the head links after the sections with an anchor; None for
        a head without links.
    **head : what the head knows beside this.
    """
    bodies = []
    for section in sections:
        with styled():
            context = section.context(subject)
            if context is None:
                continue
            drawn = {
                name: _draw(drawing, name, section, figures)
                for name, drawing in context.get("figures", {}).items()
            }
        text = _environment().get_template(section.template).render(shared | context | {"figures": drawn})
        bodies.append((section, Markup(text)))
    links = [(f"#{section.anchor}", section.name) for section, _ in bodies] if others is not None else []
    links += (others or {}).items()
    _write(path, _environment().get_template(template).render(shared | head, sections=bodies, links=links))


def write_outcomes(directory, template, sections, data, numbers, *, shared, head, figures=None):
    """Write the pages ``outcome_0001.html`` ... of some outcomes.

    Parameters
    ----------
    directory : folder of their `Chunk`, ``<report>/outcomes/<chunk name>``; made if absent.
    template, sections, shared, figures : as in `write_page`, for pages of outcomes.
    data : what the sections take, with `outcomes`.
    numbers : first and last, from 1, both included.
    head : function of an outcome's index that returns what the head of its page knows beside this.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    links = outcome_links(len(data.outcomes), "../")
    with styled():
        views = [(section, section.context(data)) for section in sections]
    sections = [section._replace(context=view) for section, view in views if view is not None]
    for number in range(numbers[0], numbers[1] + 1):
        is_kept = figures and number <= MAX_FIGURED
        write_page(
            directory / page_name(number),
            template,
            sections,
            number - 1,
            shared=shared,
            figures=figures._replace(category=OUTCOMES, prefix=f"{_stem(number)}_") if is_kept else None,
            outcome_number=number,
            name=data.outcomes[number - 1],
            previous=links.get(number - 1),
            next=links.get(number + 1),
            **head(number - 1),
        )


def _stem(number):
    return f"outcome_{number:04d}"


def _draw(drawing, name, section, folder):
    """Return a figure as a part of a page, and keep it."""
    svg = Markup(inline_svg(drawing.figure, prefix=name, label=drawing.label))
    if folder:
        category = folder.path / (folder.category or section.name)
        category.mkdir(parents=True, exist_ok=True)
        save_svg(drawing.figure, category / f"{folder.prefix}{name}.svg", words=folder.words)
    return svg


@cache
def _environment():
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES, TEMPLATES / "sections"]),
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
    macros = vars(environment.get_template("macros.html").module)
    environment.globals |= {name: macro for name, macro in macros.items() if not name.startswith("_")}
    environment.globals["accounting_names"] = ACCOUNTING_NAMES
    return environment


def _write(path, text):
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
