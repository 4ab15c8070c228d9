"""What the pages of all studies share: where they lie, and how their sections and figures become files."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

from dpgrs.io.files import remove_own, replacing
from dpgrs.reporting.svg import inline_svg, save_svg
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
    """A figure of a section, and a label for readers who do not see it."""

    figure: Any  # a `dpgrs.reporting.charts.Picture`, or what has its method `svg`
    label: str


class Section(NamedTuple):
    """A section of pages on one topic."""

    title: str  # its heading
    template: str  # a file of ``templates/sections``; it sees the context and what all pages share
    # From the study's data to a dict of what the template shows, figures in it as a dict of name to
    # `Drawing`, or None if there is nothing to show; on pages of outcomes to a function of an outcome's index
    # that returns this, or None.
    context: Callable[..., Any]
    anchor: str | None = None  # its id on a page; None: no link leads to it
    label: str | None = None  # its name among the links of the page; None: the title
    category: str | None = None  # of its figures in Snakemake's report; None: the label

    @property
    def name(self) -> str:
        """Its label, or the title."""
        return self.label or self.title


class Chunk(NamedTuple):
    """Outcome pages that one folder holds: numbers `first` to `last`, from 1, both included."""

    name: str
    first: int
    last: int


def chunks(n_outcomes: int) -> list[Chunk]:
    """Share out outcome pages to at most `MAX_CHUNKS` folders of at least `MIN_CHUNK_SIZE` pages.

    Only the last may be smaller.
    """
    size = max(MIN_CHUNK_SIZE, -(-n_outcomes // MAX_CHUNKS))
    firsts = range(1, n_outcomes + 1, size)
    return [
        Chunk(f"{number:02d}", first, min(first + size - 1, n_outcomes))
        for number, first in enumerate(firsts, start=1)
    ]


def page_name(number: int) -> str:
    """Return the file name of an outcome's page; `number` counts from 1."""
    return f"outcome_{number:04d}.html"


def outcome_links(n_outcomes: int, start: str) -> dict[int, str]:
    """Return the address of every outcome page, by its number from 1.

    `start` is the address of the folder of all chunks: ``outcomes/`` from the overview, ``../`` from a page.
    """
    return {
        number: f"{start}{chunk.name}/{page_name(number)}"
        for chunk in chunks(n_outcomes)
        for number in range(chunk.first, chunk.last + 1)
    }


def write_assets(directory: Path, variant_places: str | None = None) -> None:
    """Write the files that all pages share into the folder of a report, which is made if absent.

    These are their style, their script, and the positions of variants from `outcome_figures.shared_places`.
    """
    (directory / "assets").mkdir(parents=True, exist_ok=True)
    for name in ASSETS:
        _write(directory / "assets" / name, (TEMPLATES / name).read_text(encoding="utf-8"))
    if variant_places:
        # A script, since a page on a disk may read no other file.
        _write(directory / "assets" / PLACES, f'window.variantPlaces = "{variant_places}";\n')


def same_for_all(context: Callable[[Any], Any]) -> Callable[[Any], Callable[[int], Any]]:
    """Return the context, on the pages of outcomes, of a section that is the same on all of them."""

    def prepare(data: Any) -> Callable[[int], Any]:
        shown = context(data)
        return lambda outcome: shown

    return prepare


def write_page(
    path: Path,
    template: str,
    sections: Sequence[Section],
    subject: Any,
    *,
    shared: dict[str, Any],
    figures: Path | None = None,
    prefix: str = "",
    page_links: dict[str, str] | None = None,
    **head: Any,
) -> None:
    """Write a page of those sections that have something to show.

    `template` is the file of the head of the page, which sees `shared` and `head`; sections take `subject`
    and see `shared`, with ``mode`` and ``root`` in it. Files of the figures go to `figures`, if given, by
    category, their names with a `prefix` that differs between all pages. `page_links` are addresses and names
    of pages that the head links after the sections; None makes a head without links.
    """
    bodies, stamp = [], STAMP if shared["mode"] == "benchmark" else ""
    for section in sections:
        context = section.context(subject)
        if context is None:
            continue
        drawings, inline_figures = context.get("figures", {}), {}
        for name, (figure, label) in drawings.items():
            svg = figure.svg(is_packed=True)
            inline_figures[name] = Markup(inline_svg(svg, prefix=name, label=label))
            if figures:
                folder = figures / (section.category or section.name)
                # A file has no script beside it.
                unpacked = figure.svg() if "data-bars" in svg else svg
                save_svg(unpacked, folder / f"{prefix}{name}.svg", words=stamp)
        values = shared | context | {"figures": inline_figures}
        text = environment().get_template(section.template).render(values)
        bodies.append((section, Markup(text)))
    links = [] if page_links is None else [(f"#{section.anchor}", section.name) for section, _ in bodies]
    links += (page_links or {}).items()
    _write(path, environment().get_template(template).render(shared | head, sections=bodies, links=links))


def outcome_pages(
    template: str,
    sections: Sequence[Section],
    data: Any,
    *,
    shared: dict[str, Any],
    head: Callable[[int], dict[str, Any]],
    figures: Path | None = None,
) -> Callable[[int, int, Path], None]:
    """Prepare what the pages of all outcomes share, once, and return a function that writes pages.

    It takes `first` and `last`, numbers of outcomes from 1, both included, and the folder of their `Chunk`,
    ``<report>/outcomes/<chunk name>``, made if absent, and writes ``outcome_0001.html`` ... there. Figures of
    the first `MAX_FIGURED` outcomes are kept. `head` returns, for an outcome's index, what the head of its
    page shows; other arguments are as in `write_page`.
    """
    links = outcome_links(len(data.outcomes), "../")
    views = [(section, section.context(data)) for section in sections]
    sections = [section._replace(context=view) for section, view in views if view is not None]

    def write(first: int, last: int, directory: Path | str) -> None:
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
def environment() -> jinja2.Environment:
    """Return the environment in which templates become pages."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES, TEMPLATES / "sections"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {
        "bound": format_bound,
        "count": format_count,
        "r2": format_r2,
        "scientific": format_scientific,
        "signed": format_signed,
        "plural": plural,
        "typeset": typeset,
    }
    macros = vars(templates.get_template("macros.html").module)
    templates.globals |= {name: macro for name, macro in macros.items() if not name.startswith("_")}
    templates.globals["accounting_names"] = ACCOUNTING_NAMES
    return templates


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


# Snakemake's file is of versions whose rules had the folder as output.
PAGES = {"index.html", "genotypes.html", "assets", "outcomes", ".snakemake_timestamp"}


def write_report(
    writers: ModuleType, data: Any, output: Path, *, processes: int, figures: Path | None = None
) -> None:
    """Write the pages of a study and replace earlier ones; the folder is complete or absent.

    `writers` is a module with `write_overview` and `outcome_writer`; `data` is what these take. Some
    processes write outcome pages, and the pages do not depend on how many. `figures` is a folder to make for
    files of the figures, or None. A folder of figures that is not empty is refused, as is an output that
    holds anything but a report.
    """
    remove_own(output, names=PAGES, kind="a report")
    with replacing(output) as temporary, replacing(figures) if figures else nullcontext() as figure_folder:
        temporary.mkdir()
        if figure_folder:
            figure_folder.mkdir()
        writers.write_overview(data, temporary, figures=figure_folder)
        page_chunks = chunks(len(data.outcomes))
        # The data go to every process once, with all that it is to write: a large study's take seconds.
        shares = [page_chunks[start::processes] for start in range(min(processes, len(page_chunks)))]
        write = partial(_write_chunks, writers.outcome_writer, data, temporary, figure_folder)
        if len(shares) == 1:
            write(shares[0])
        else:  # a process needs a second or two to start
            with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
                list(pool.map(write, shares))


def _write_chunks(
    outcome_writer: Callable[..., Any],
    data: Any,
    directory: Path,
    figures: Path | None,
    share: Sequence[Chunk],
) -> None:
    write = outcome_writer(data, figures=figures)
    for chunk in share:
        write(chunk.first, chunk.last, directory / "outcomes" / chunk.name)
