"""The pages of a benchmark, lists of sections: an overview, one on genotypes, and one per outcome."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.reporting import overview, study_terms
from dpgrs.reporting.attacks import ATTACKS
from dpgrs.reporting.outcome_figures import shared_places
from dpgrs.reporting.outcome_measures import CARRIED, MEASURES
from dpgrs.reporting.outcomes import FITS, WEIGHTS
from dpgrs.reporting.qc import GENOTYPES
from dpgrs.reporting.rendering import outcome_pages, write_assets, write_page
from dpgrs.reporting.screening import CHOICES, CHOSEN

if TYPE_CHECKING:
    from dpgrs.reporting.data import ReportData

OVERVIEW = [study_terms.RUN, overview.ACCURACY, CHOICES, overview.OUTCOMES, ATTACKS, study_terms.PRIVACY]
OF_OUTCOME = [WEIGHTS, CHOSEN, CARRIED, FITS, MEASURES, study_terms.PRIVACY_OF_OUTCOME]
PAGE_OF_GENOTYPES = "genotypes.html"


def write_overview(data: "ReportData", directory: Path | str, *, figures: Path | None = None) -> None:
    """Write ``index.html``, the page on genotypes, and the files that all pages share.

    Outcome pages are expected in ``outcomes/<chunk name>/`` beside it, as an `outcome_writer` makes them. The
    folder is made if absent; `figures` is a folder for files of the figures, or None.
    """
    directory = Path(directory)
    write_assets(directory, shared_places(data.variants))
    shared = _shared(data, root="")
    other_pages = {PAGE_OF_GENOTYPES: "Genotypes"} if data.quality else {}
    for name in other_pages:
        write_page(directory / name, name, GENOTYPES, data, shared=shared, figures=figures, page_links={})
    write_page(
        directory / "index.html",
        "index.html",
        OVERVIEW,
        data,
        shared=shared,
        figures=figures,
        page_links=other_pages,
        has_private=any(fit.is_private for fit in data.accuracy.fits),
        has_exact=any(not fit.is_private for fit in data.accuracy.fits),
    )


def outcome_writer(data: "ReportData", *, figures: Path | None = None) -> Callable[..., None]:
    """Return a function of first, last and folder that writes pages of outcomes, from `outcome_pages`."""
    return outcome_pages(
        "outcome.html",
        OF_OUTCOME,
        data,
        shared=_shared(data, root="../../"),
        head=lambda outcome: {"is_binary": data.outcomes[outcome] in data.binary},
        figures=figures,
    )


def _shared(data: "ReportData", *, root: str) -> dict[str, Any]:
    """Return the values that all pages and their sections use; `root` leads from a page to the overview's
    folder."""
    return {
        "mode": "benchmark",
        "root": root,
        "study": data.study,
        "words": data.study.words,
        "n_variants": len(data.variants),
        "n_outcomes": len(data.outcomes),
        # Components are drawn instead of outcomes, if there are any.
        "n_components": 0 if data.loadings is None else data.loadings.shape[1],
    }
