"""The pages of a study: an overview and one page per outcome, static and free of any network."""

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from dpgrs.io.files import replacing
from dpgrs.reporting.accuracy import Accuracy, mean, summary
from dpgrs.reporting.figures import plural, r2_figure, spread_figure
from dpgrs.reporting.fits import label_fits, shown_private
from dpgrs.reporting.outcomes import OutcomeViews
from dpgrs.reporting.svg import inline_svg, styled
from dpgrs.reporting.terms import ACCOUNTINGS, Terms, format_bound, format_count, format_r2, format_scientific

TEMPLATES = Path(__file__).parent / "templates"
ASSETS = ("report.css", "report.js")
MIN_CHUNK_SIZE = 100
MAX_CHUNKS = 20
FLOOR_NOTE = "A triangle at the edge marks a value that lies further down; the tables give it."


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


def write_overview(data, directory):
    """Write ``index.html`` and the style and script of all pages.

    Outcome pages are expected in ``outcomes/<chunk name>/`` beside it, as `write_outcome_pages` makes them.

    Parameters
    ----------
    data : ReportData
    directory : folder of the report; made if absent.
    """
    directory = Path(directory)
    (directory / "assets").mkdir(parents=True, exist_ok=True)
    for name in ASSETS:
        _write(directory / "assets" / name, (TEMPLATES / name).read_text(encoding="utf-8"))
    accuracy = Accuracy.of(data.metrics, outcomes=data.outcomes, trials=data.study.trials)
    with styled():
        figures = {
            "r2": _figure(r2_figure(data.metrics), "r2", "Mean R² of every method against epsilon"),
            "spread": _figure(spread_figure(accuracy), "spread", "R² of single outcomes by method"),
        }
    page = _render(
        "index.html",
        **_shared_context(data),
        root="",
        figures=figures,
        headline=_headline(accuracy),
        summary=summary(data.metrics),
        columns=_overview_columns(accuracy.fits),
        outcomes=_overview_rows(data.outcomes, accuracy),
    )
    _write(directory / "index.html", page)


def write_outcome_pages(data, first, last, directory):
    """Write the pages ``outcome_0001.html`` ... of some outcomes.

    Parameters
    ----------
    data : ReportData
    first, last : int, numbers of outcomes from 1, both included; those of a `Chunk`.
    directory : folder of that chunk, ``<report>/outcomes/<chunk name>``; made if absent.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    views, shared = OutcomeViews(data), _shared_context(data)
    links = _links(len(data.outcomes))
    for number in range(first, last + 1):
        with styled():
            figures = {
                name: _figure(figure, name, label)
                for name, (figure, label) in views.figures(number - 1).items()
            }
        page = _render(
            "outcome.html",
            **shared,
            root="../../",
            outcome_number=number,
            name=data.outcomes[number - 1],
            previous=links.get(number - 1),
            next=links.get(number + 1),
            figures=figures,
            reference=views.reference,
            fits=views.fit_rows(number - 1),
            shown=views.shown,
            is_thinned=views.is_thinned,
            populations=views.population_rows(number - 1),
        )
        _write(directory / page_name(number), page)


def distinct_terms(data):
    """Return the distinct `Terms` of a study's private fits, each with the list of fits that keep them."""
    fits, codes = label_fits(data.metrics)
    records = data.metrics.assign(fit=codes).drop_duplicates("fit").set_index("fit")
    terms = {}
    for code, fit in enumerate(fits):
        if fit.is_private:
            terms.setdefault(Terms.of(fit, records.loc[code], rows=data.study.rows), []).append(fit)
    return terms


def _overview_columns(fits):
    """Choose the fits that the table of outcomes has room for: all non-private and a few private ones."""
    shown = shown_private(fits)
    return [(place, fit) for place, fit in enumerate(fits) if not fit.is_private or fit in shown]


def _headline(accuracy):
    """Return the best fit without and with privacy and their mean R^2, as far as there are such fits."""
    means = dict(zip(accuracy.fits, mean(accuracy.r2, axis=(1, 2)).tolist(), strict=True))
    finite = [fit for fit in means if math.isfinite(means[fit])]
    kinds = ([fit for fit in finite if fit.is_private == is_private] for is_private in (False, True))
    return [
        (best, means[best]) for best in (max(kind, key=means.get, default=None) for kind in kinds) if best
    ]


def _overview_rows(outcomes, accuracy):
    means = mean(accuracy.r2, axis=2)
    links = _links(len(outcomes))
    return [
        {
            "number": number,
            "name": name,
            "link": f"outcomes/{links[number].removeprefix('../')}",
            "r2": means[:, number - 1],
        }
        for number, name in enumerate(outcomes, start=1)
    ]


def _links(n_outcomes):
    """Return, by number, the address of every outcome page as seen from another one."""
    return {
        number: f"../{chunk.name}/{page_name(number)}"
        for chunk in chunks(n_outcomes)
        for number in range(chunk.first, chunk.last + 1)
    }


def _figure(figure, prefix, label):
    return Markup(inline_svg(figure, prefix=prefix, label=label))


def _shared_context(data):
    """Return what all pages of a study show."""
    terms = distinct_terms(data)
    return {
        "study": data.study,
        "n_variants": len(data.variants),
        "n_outcomes": len(data.outcomes),
        "n_training": sorted(set(data.metrics["n_rows"])),
        "terms": terms,
        "accountings": {
            fit.accounting: ACCOUNTINGS[fit.accounting] for kept in terms.values() for fit in kept
        },
        "floor_note": FLOOR_NOTE,
    }


def _render(template, **context):
    return _environment().get_template(template).render(context)


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
        "plural": plural,
    }
    return environment


def _write(path, text):
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
