"""The pages of a release, lists of sections of released and public values: an overview, one per outcome."""

from pathlib import Path

from dpgrs.reporting import release_sections as release
from dpgrs.reporting.rendering import FigureFolder, write_assets, write_outcomes, write_page

OVERVIEW = [
    release.RELEASED,
    release.OUTCOMES,
    release.GUARANTEE,
    release.BUDGET,
    release.PUBLIC_INPUTS,
    release.CHECK,
]
OF_OUTCOME = [release.WEIGHTS, release.PREDICTION, release.COVARIATES, release.ACCURACY, release.PROMISE]


def write_overview(data, directory, *, figures=None):
    """Write ``index.html`` and the style and script of all pages.

    Outcome pages are expected in ``outcomes/<chunk name>/`` beside it, as `write_outcome_pages` makes them.

    Parameters
    ----------
    data : ReleaseData
    directory : folder of the report; made if absent.
    figures : folder for files of the figures; None: keep none.
    """
    directory = Path(directory)
    write_assets(directory)
    write_page(
        directory / "index.html",
        "release_index.html",
        OVERVIEW,
        data,
        shared=_shared(data, root=""),
        figures=_folder(figures),
        others={},
    )


def write_outcome_pages(data, first, last, directory, *, figures=None):
    """Write the pages ``outcome_0001.html`` ... of some outcomes.

    Parameters
    ----------
    data : ReleaseData
    first, last : int, numbers of outcomes from 1, both included; those of a `Chunk`.
    directory : folder of that chunk, ``<report>/outcomes/<chunk name>``; made if absent.
    figures : folder for files of the figures; None: keep none.
    """
    write_outcomes(
        directory,
        "release_outcome.html",
        OF_OUTCOME,
        data,
        (first, last),
        shared=_shared(data, root="../../"),
        head=lambda outcome: {
            "score": data.statement["scores"][outcome],
            "scale": None if data.scales is None else data.scales.loc[data.outcomes[outcome]],
        },
        figures=_folder(figures),
    )


def _folder(path):
    return path and FigureFolder(Path(path), words="")


def _shared(data, *, root):
    """Return what all pages and their sections know; `root` leads from a page to the overview's folder."""
    return {
        "mode": "release",
        "root": root,
        "bundle": root + data.bundle,
        "statement": data.statement,
        "title": data.statement["curation"]["title"],
        "n_variants": len(data.variants),
        "n_weights": data.n_weights,
        "has_chosen": data.chosen is not None,
        "n_outcomes": len(data.outcomes),
        "has_accuracy": data.has_accuracy,
    }
