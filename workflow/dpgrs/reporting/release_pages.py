"""The pages of a release: an overview and one page per outcome, of released and public values alone."""

from pathlib import Path

import numpy as np

from dpgrs.privacy.statement.boosting_rounds import gather_rounds
from dpgrs.reporting.outcome_figures import MAX_BARS, WeightsFigure
from dpgrs.reporting.release_data import AUDITED, STATISTICS, terms_rows
from dpgrs.reporting.rendering import inline_figure, outcome_links, page_name, write_assets, write_page
from dpgrs.reporting.svg import PALETTE, styled
from dpgrs.reporting.terms import protected_in_words

STRIP_HEIGHT = 140


def write_overview(data, directory):
    """Write ``index.html`` and the style and script of all pages.

    Outcome pages are expected in ``outcomes/<chunk name>/`` beside it, as `write_outcome_pages` makes them.

    Parameters
    ----------
    data : ReleaseData
    directory : folder of the report; made if absent.
    """
    directory = Path(directory)
    write_assets(directory)
    write_page(
        directory / "index.html",
        "release_index.html",
        **_shared_context(data, root=""),
        outcomes=_overview_rows(data),
        statistics=STATISTICS,
        audited=AUDITED,
        budget=data.budget,
        n_rows=data.n_rows,
        mechanisms=gather_rounds(data.statement["mechanisms"]),
        has_private_count=data.has_private_count,
    )


def write_outcome_pages(data, first, last, directory):
    """Write the pages ``outcome_0001.html`` ... of some outcomes.

    Parameters
    ----------
    data : ReleaseData
    first, last : int, numbers of outcomes from 1, both included; those of a `Chunk`.
    directory : folder of that chunk, ``<report>/outcomes/<chunk name>``; made if absent.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    shared, links = _shared_context(data, root="../../"), outcome_links(len(data.outcomes), "../")
    with styled():
        drawing = WeightsFigure(
            data.variants, labels=["Released weights"], colors=PALETTE[:1], strip_height=STRIP_HEIGHT
        )
    for number in range(first, last + 1):
        weights, largest = data.weights[number - 1], data.largest_rows(number - 1)
        is_chosen = data.chosen is not None
        rows = data.chosen_rows(number - 1) if is_chosen else largest
        with styled():
            figure = drawing.draw(
                weights[np.newaxis], [_extent(largest.iloc[0])], places=data.places(number - 1)
            )
            label = f"Released weights of {'the chosen' if is_chosen else 'all'} variants along the genome"
            figure = inline_figure(figure, "weights", label)
        write_page(
            directory / page_name(number),
            "release_outcome.html",
            **shared,
            outcome_number=number,
            name=data.outcomes[number - 1],
            previous=links.get(number - 1),
            next=links.get(number + 1),
            figure_of_weights=figure,
            is_thinned=data.n_weights > MAX_BARS,
            rows=list(rows.itertuples(index=False)),
            has_errors="standard_error" in rows,
            covariates=data.covariates_of(number - 1),
            score=data.statement["scores"][number - 1],
            accuracy_in_words=data.accuracy_in_words(number - 1),
            constant=data.constants.loc[data.outcomes[number - 1], "constant"],
            scale=None if data.scales is None else data.scales.loc[data.outcomes[number - 1]],
        )


def _extent(largest):
    return f"tallest: {largest.contig}:{largest.position:,}"


def _overview_rows(data):
    links = outcome_links(len(data.outcomes), "outcomes/")
    rows = []
    for place, (name, score) in enumerate(zip(data.outcomes, data.statement["scores"], strict=True)):
        largest = np.abs(data.weights[place]).argmax()
        rows.append(
            {
                "number": place + 1,
                "name": name,
                "link": links[place + 1],
                "largest": abs(data.weights[place, largest]),
                "site": data.variants.iloc[data.places(place)[largest]],
                "score": score,
                "accuracy": data.accuracy.loc[name],
            }
        )
    return rows


def _shared_context(data, *, root):
    """Return what all pages of a release show; `root` leads from a page to the overview's folder."""
    statement = data.statement
    return {
        "mode": "release",
        "root": root,
        "bundle": root + data.bundle,
        "statement": statement,
        "title": statement["curation"]["title"],
        "n_variants": len(data.variants),
        "n_weights": data.n_weights,
        "has_chosen": data.chosen is not None,
        "n_outcomes": len(data.outcomes),
        "terms": terms_rows(statement),
        "protected": protected_in_words(
            statement["guarantee"]["protection"], has_covariates=data.covariates is not None
        ),
        "has_accuracy": data.has_accuracy,
    }
