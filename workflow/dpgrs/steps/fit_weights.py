"""Weights of all methods, from noisy results and, without privacy, from exact statistics."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import read_table, write_table
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Labelled, Statistics, load_labelled, save_labelled
from dpgrs.io.variant_set import VariantSet, check_same_people
from dpgrs.methods.chosen_exactly import fit_chosen_exactly
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.labels import exact_label, fit_label, timed
from dpgrs.methods.mechanisms import fitted_from, mechanism_of_file, request_of
from dpgrs.methods.ols import fit_exactly
from dpgrs.methods.public_effects import PublicEffects
from dpgrs.statement.files import file_stems
from dpgrs.statement.findings import misfit_in_words
from dpgrs.statement.methods import METHODS, REFERENCE_METHOD
from dpgrs.study.fit_identity import effects_identity, fit_settings, ld_identity, seal
from dpgrs.study.genome_maps import panel_variances, require_panel, stored_map, stored_maps
from dpgrs.study.people_terms import has_same_ancestry
from dpgrs.study.public_files import load_effects, load_ld, outcome_stem
from dpgrs.study.training_rows import public_outcomes, training_rows

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.selection.screening_data import ScreeningData

# Rules give of these `dpgrs.study.fit_identity.READS_OF_FIT`.
READS = (
    "methods",
    "regression",
    "cohort.source",
    "public.same_ancestry",
    "public.subtract",
    "privacy.ld_share",
)


def fit_weights(
    settings: "StudyConfig",
    drawn: list[Path] = (),
    *,
    draw_seconds: list[Path] = (),
    statistics: Path | None = None,
    choices: Path | None = None,
    variant_set: Path | None = None,
    outcomes: Path | None = None,
    adjusted: Path | None = None,
    exactly_adjusted: Path | None = None,
    ld: Path | None = None,
    panel: Path | None = None,
    effects: Path | None = None,
    output: Path,
    seconds: Path | None = None,
) -> dict[str, Any] | None:
    """Fit the weights of all outcomes, by every method, at every number of variants, from noisy results.

    With exact statistics GBLUP is always fitted, as the reference of the metrics; labels say which fits are
    to be reported. Ridge takes lambda as it is.

    Returns a dict of `warnings` about public genotypes that do not fit, None without one. Raises DpgrsError
    if a release was drawn by other public genotypes than those of `ld`.

    Parameters
    ----------
    drawn : noisy results from one or several mechanisms.
    draw_seconds : table of the time that each draw took, in benchmarks.
    statistics : exact statistics, for fits without privacy.
    choices : choices of variants without privacy, for fits that use them.
    variant_set : the variant set, for fits on choices without privacy.
    outcomes : outcomes, for fits on choices without privacy and fits with public outcomes.
    adjusted : outcomes as they were drawn, if they were adjusted for covariates before: their effects become
        weights.
    exactly_adjusted : outcomes of the exact statistics, likewise.
    ld : linkage disequilibrium of public genotypes, for fits that use it.
    panel : the variant set of the public reference, for fits that scale scores by its people.
    effects : public effects, for fits that start from them.
    output : the weights to write.
    seconds : table to write of the time that each fit took, in benchmarks.
    """
    took, mismatches = [], []
    of_drawn, of_exact = (
        None if path is None else Outcomes.load(path).covariate_effects
        for path in (adjusted, exactly_adjusted)
    )

    def fits() -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray], float]]:
        """Yield one fit after another, so that no more than one is in memory."""
        methods, files = (
            settings.methods,
            {"ld": ld, "panel": panel, "effects": effects, "covariate_effects": of_drawn},
        )
        if statistics is not None:
            exact = Statistics.load(statistics)
            yield from _non_private_fits(exact, methods, settings.regression.as_dict(), of_exact)
        public = None if outcomes is None else Outcomes.load(outcomes)
        for path, times in zip_longest(drawn, draw_seconds):
            times = None if times is None else read_table(times, required=["seconds"])["seconds"]
            yield from _drawn_fits(load_labelled(path), times, settings, public, **files)
        if choices is not None:
            of_rows = VariantSet.open(variant_set)
            check_same_people(of_rows, public)
            rows_of_size = cache(partial(training_rows, public, of_rows))
            yield from _fits_of_choices(load_labelled(choices), methods, rows_of_size, of_exact)

    def labelled() -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
        for label, arrays, elapsed in fits():
            took.append(elapsed)
            mismatches.append({name: arrays[name] for name in ("mismatch",) if name in arrays})
            yield label, arrays

    save_labelled(output, labelled())
    if seconds is not None:
        write_table(seconds, pd.DataFrame({"seconds": took}))
    warnings = misfit_in_words(mismatches)
    return {"warnings": warnings} if warnings else None


def _non_private_fits(
    statistics: Statistics,
    methods: Sequence[str],
    regression: dict[str, Any],
    covariate_effects: np.ndarray | None,  # (n_outcomes, n_covariates + 1) float64
) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray], float]]:
    names = [name for name in ("ols", "ridge") if name in methods]
    for size, cross in statistics.cross.items():
        for method in (REFERENCE_METHOD, *names):
            fit, elapsed = timed(fit_exactly, method, statistics, size, regression)
            fit = fit.with_covariates(covariate_effects)
            label = exact_label(method, size, len(cross)) | {"reported": method in methods}
            yield label, fit.arrays(), elapsed


def _drawn_fits(
    noisy_results: Labelled,
    draw_seconds: pd.Series | None,  # of n_draws
    settings: "StudyConfig",
    public: Outcomes | None,
    ld: Path | None,
    panel: Path | None,
    effects: Path | None,
    covariate_effects: np.ndarray | None,  # (n_outcomes, n_covariates + 1) float64
) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray], float]]:
    found_ld = {} if ld is None else {size: matrices for size, (matrices, _) in load_ld(ld).items()}
    is_stated = has_same_ancestry(settings)
    linkage = {"ld": found_ld, "genome": lambda fit_terms: stored_map(ld, fit_terms).genome}
    if panel is not None:
        of_map = VariantSet.open(panel)
        require_panel(of_map, stored_maps(ld))
        linkage["panel_variances"] = partial(panel_variances, of_map)
    all_terms = FitTerms.of(settings.regression.as_dict(), same_ancestry=is_stated, **linkage)
    effects_of = _effects_by_size(
        effects, max((label["outcomes"] for label in noisy_results.labels), key=len, default=())
    )
    for number, (label, arrays) in enumerate(noisy_results):
        request, mechanism, count = request_of(label), mechanism_of_file(label), label["n_outcomes"]
        fit_terms = replace(all_terms, effects=effects_of(request.n_variants, count))
        noisy = mechanism.restore(label, arrays)
        outcomes = public_outcomes(public, request, count=count)
        draw_of = {"method": label.get("method"), "protection": request.protection}
        for method in fitted_from(mechanism, settings.methods, **draw_of):
            options = {"request": request, "terms": fit_terms, "outcomes": outcomes}
            fit, elapsed = timed(fit_released, method, noisy, **options)
            fit = fit.with_covariates(covariate_effects)
            if mechanism.is_fitted and draw_seconds is not None:
                elapsed = draw_seconds[number]  # it was fitted as it was drawn
            label_of_fit = _label(method, label)
            if "requests" in label:
                _require_same_ld(label, ld)
                sealed = fit_settings(settings) | ld_identity(ld) | effects_identity(effects)
                label_of_fit["seal"] = seal(label, noisy, sealed, fit.arrays())
            yield label_of_fit, fit.arrays(), elapsed


def _require_same_ld(label: dict[str, Any], ld: Path | None) -> None:
    if "ld" in label and label["ld"] != ld_identity(ld).get("ld"):
        raise DpgrsError(
            "ld-differs",
            "The linkage disequilibrium of a fit must be the one that steered X'Y, got another. Take the "
            "same file for both.",
        )


def _effects_by_size(
    effects: Path | None,
    names: Sequence[str],  # of outcomes
) -> Callable[[int, int], PublicEffects | None]:
    """Return a function of the numbers of variants and of outcomes to their PublicEffects; None without any.

    Files named as the scores of outcomes, such as ``height.txt.gz``, are only for these, and other outcomes
    may follow any of the other files.
    """
    files, effect_values = load_effects(effects)
    named = [outcome_stem(file["name"]) for file in files]
    is_for = np.array([[name == stem for name in named] for stem in file_stems(names)], dtype=bool)
    is_for = is_for.reshape(len(names), len(files))
    is_for |= ~is_for.any(axis=1, keepdims=True) & ~is_for.any(axis=0)
    is_marginal = np.array([file["is_marginal"] for file in files], dtype=bool)

    def effects_of(size: int, count: int) -> PublicEffects | None:
        effect_terms = (
            (effect_values[size], is_marginal, is_for[:count], tuple(names[:count])) if files else None
        )
        return effect_terms and PublicEffects(*effect_terms)

    return effects_of


def _fits_of_choices(
    choices: Labelled,
    methods: Sequence[str],
    rows_of_size: Callable[[int], "ScreeningData"],  # by the number of variants
    covariate_effects: np.ndarray | None,  # (n_outcomes, n_covariates + 1) float64
) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray], float]]:
    for label, arrays in choices:
        size, chosen = label["n_variants"], arrays["chosen"]
        for method in methods:
            row = METHODS[method]
            if row.is_non_private and row.selector == label["selector"]:
                fit, elapsed = timed(fit_chosen_exactly, rows_of_size(size), chosen)
                fit = fit.with_covariates(covariate_effects)
                yield exact_label(method, size, len(chosen)), fit.arrays(), elapsed


def _label(method: str, label: dict[str, Any]) -> dict[str, Any]:
    """Return the label of a private fit; with a note of draws without privacy, only the name and the note."""
    request, count = label["request"], label["n_outcomes"]
    statuses = {"statuses": label["statuses"]} if "statuses" in label else {}
    if "note" not in label:
        return fit_label(method, request, count) | statuses
    exact = exact_label(f"{method}, {label['note']}", request["n_variants"], count)
    # Unlike other fits without privacy it depends on how many outcomes share a budget.
    return exact | {"is_of_count": True} | statuses
