"""The pages of a benchmark: an overview and one page per outcome, static and free of any network."""

from pathlib import Path

from dpgrs.methods.registry import METHODS
from dpgrs.reporting.accuracy import Accuracy, mean, summary
from dpgrs.reporting.attacks import attack_rows, attacks_figure
from dpgrs.reporting.chance_level import chance_r2, drowned, remedy
from dpgrs.reporting.figures import spread_figure
from dpgrs.reporting.fits import best_fits, label_fits, shown_private
from dpgrs.reporting.grid_figures import LOWEST, r2_figure
from dpgrs.reporting.grid_layout import curves, lay_out, left_out_words, views
from dpgrs.reporting.outcomes import OutcomeViews
from dpgrs.reporting.qc import PAGE, write_quality_page
from dpgrs.reporting.rendering import inline_figure, outcome_links, page_name, write_assets, write_page
from dpgrs.reporting.screening import ScreeningViews, kept_back_words, overview_context
from dpgrs.reporting.study_terms import has_bounds, method_facts
from dpgrs.reporting.svg import styled
from dpgrs.reporting.terms import ACCOUNTING_NAMES, ACCOUNTINGS, Terms, promise
from dpgrs.types import Bounds, Protection

FLOOR_NOTE = "A triangle at the edge marks a value that lies further down; the tables give it."


def write_overview(data, directory):
    """Write ``index.html``, the page on genotypes, and the style and script of all pages.

    Outcome pages are expected in ``outcomes/<chunk name>/`` beside it, as `write_outcome_pages` makes them.

    Parameters
    ----------
    data : ReportData
    directory : folder of the report; made if absent.
    """
    directory = Path(directory)
    write_assets(directory)
    if data.quality:
        write_quality_page(data.quality, directory, study=data.study)
    accuracy = Accuracy.of(data.metrics, outcomes=data.outcomes, trials=data.study.trials)
    attacks = attack_rows(data.attacks)
    least_r2 = chance_r2(data.metrics, test_share=data.study.test_share)
    found, n_cells = drowned(data.metrics, least_r2=least_r2)
    with styled():
        figures = {
            "spread": inline_figure(spread_figure(accuracy), "spread", "R² of single outcomes by method")
        }
        if attacks:
            figures["attacks"] = inline_figure(
                attacks_figure(attacks), "attacks", "Advantage of every attack, and its bound"
            )
    write_page(
        directory / "index.html",
        "index.html",
        **_shared_context(data),
        root="",
        figures=figures,
        genotypes=PAGE if data.quality else None,
        facts=method_facts(data.study, _private_methods(data.metrics)),
        drowned=found,
        n_drowned=sum(one.n_designs for one in found),
        n_cells=n_cells,
        least_r2=least_r2,
        remedy=remedy(data.study.bounds),
        grid=_grid_figures(data.metrics),
        lowest=LOWEST,
        best=best_fits(accuracy.fits, mean(accuracy.r2, axis=(1, 2))),
        has_private=any(fit.is_private for fit in accuracy.fits),
        has_exact=any(not fit.is_private for fit in accuracy.fits),
        summary=summary(data.metrics),
        attacks=attacks,
        chosen=overview_context(data) if data.screening else None,
        columns=_overview_columns(accuracy),
        n_fits=len(accuracy.fits),
        outcomes=_overview_rows(data.outcomes, accuracy),
    )


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
    links = outcome_links(len(data.outcomes), "../")
    no_model = kept_back_words(data.metrics, data.study.trials)
    with styled():
        chosen = ScreeningViews(data) if data.screening else None
    for number in range(first, last + 1):
        with styled():
            figures = {
                name: inline_figure(figure, name, label)
                for name, (figure, label) in views.figures(number - 1).items()
            }
            if chosen:
                scores = chosen.figure(number - 1)
                figures["scores"] = inline_figure(scores, "scores", "Kendall scores along the genome")
        write_page(
            directory / page_name(number),
            "outcome.html",
            **shared,
            root="../../",
            outcome_number=number,
            name=data.outcomes[number - 1],
            place=number - 1,
            previous=links.get(number - 1),
            next=links.get(number + 1),
            figures=figures,
            best=views.best(number - 1),
            reference=views.reference,
            fits=views.fit_rows(number - 1),
            shown=views.shown,
            has_many=views.has_many,
            is_thinned=views.is_thinned,
            populations=views.population_rows(number - 1),
            no_model=no_model.get(data.outcomes[number - 1], {}),
            chosen=chosen,
        )


def distinct_terms(data):
    """Return the distinct `Terms` of a study's private fits, each with the list of fits that keep them."""
    fits, codes = label_fits(data.metrics)
    records = data.metrics.assign(fit=codes).drop_duplicates("fit").set_index("fit")
    terms = {}
    for code, fit in enumerate(fits):
        if fit.is_private:
            own = Terms.of(
                fit, records.loc[code], rows=data.study.rows, has_covariates=bool(data.study.covariates)
            )
            terms.setdefault(own, []).append(fit)
    return terms


def _private_methods(metrics):
    return set(metrics.loc[metrics["protection"] != Protection.NONE, "method"])


def _grid_figures(metrics):
    """Draw every view of the grid.

    Returns
    -------
    list of dict with view, figure and left_out, the values in words that the figure has no room for.
    """
    drawn, found = [], curves(metrics)
    for view in views(metrics):
        with styled():
            figure = inline_figure(
                r2_figure(*found, view), view.name, f"Mean R² of every method against {view.words}"
            )
        layout = lay_out(*found, view)
        drawn.append({"view": view, "figure": figure, "left_out": left_out_words(layout, view)})
    return drawn


def _shared_draws(terms):
    """Name the methods of a study that are post-processing of the same noisy statistics."""
    fits = [fit for kept in terms.values() for fit in kept]
    return list(dict.fromkeys(fit.method_name for fit in fits if METHODS[fit.method].is_post_processing))


def _overview_columns(accuracy):
    """Choose the fits that the table of outcomes has room for: all non-private and a few private ones."""
    fits = accuracy.fits
    shown = shown_private(fits, mean(accuracy.r2, axis=(1, 2)))
    return [(place, fit) for place, fit in enumerate(fits) if not fit.is_private or fit in shown]


def _overview_rows(outcomes, accuracy):
    means = mean(accuracy.r2, axis=2)
    links = outcome_links(len(outcomes), "outcomes/")
    return [
        {"number": number, "name": name, "link": links[number], "r2": means[:, number - 1]}
        for number, name in enumerate(outcomes, start=1)
    ]


def _shared_context(data):
    """Return what all pages of a study show."""
    terms = distinct_terms(data)
    promises, has_covariates = {}, bool(data.study.covariates)
    for term, fits in terms.items():
        protection = fits[0].protection
        words = promise(protection, term.neighbours, term.unit, has_covariates=has_covariates)
        promises.setdefault(str(protection), words)
    return {
        "mode": "benchmark",
        "study": data.study,
        "n_variants": len(data.variants),
        "n_outcomes": len(data.outcomes),
        "n_training": sorted(set(data.metrics["n_rows"])),
        "terms": terms,
        "accountings": {
            ACCOUNTING_NAMES[fit.accounting]: ACCOUNTINGS[fit.accounting]
            for kept in terms.values()
            for fit in kept
        },
        "accounting_names": ACCOUNTING_NAMES,
        "promises": promises,
        "is_tight": data.study.bounds == Bounds.TIGHT and has_bounds(_private_methods(data.metrics)),
        "binary": data.binary,
        "clipping": data.clipping,
        "shared_draws": _shared_draws(terms),
        "floor_note": FLOOR_NOTE,
    }
