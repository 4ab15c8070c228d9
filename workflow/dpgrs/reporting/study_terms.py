"""The runs of a study, and the meaning of its privacy terms, as its pages state them."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from dpgrs.methods.registry import METHODS
from dpgrs.reporting.fits import Fit, label_fits
from dpgrs.reporting.rendering import Section, same_for_all
from dpgrs.reporting.terms import ACCOUNTING_NAMES, ACCOUNTINGS, Terms, promise
from dpgrs.types import Bounds, Penalty, Protection

if TYPE_CHECKING:
    from dpgrs.reporting.data import ReportData, StudyInfo

PENALTY_RULES = {
    Penalty.FIXED: "fixed, the ridge penalty above",
    Penalty.ADASSP: "adassp, from the noise on X′X; the ridge penalty above where that has none",
    Penalty.EVIDENCE: "evidence, from the marginal likelihood of the released statistics",
}


class Fact(NamedTuple):
    """One setting: its name, and its value in words."""

    name: str
    words: str


def method_facts(study: "StudyInfo", methods: Collection[str]) -> list[Fact]:
    """Return the settings that the private methods of a study use."""
    facts = []
    if study.covariates:
        names, bound = ", ".join(study.covariates), study.covariate_bound
        facts.append(Fact("Covariates", f"{names}, clipped at {bound:g} standard deviations"))
    if has_bounds(methods):
        facts.append(Fact("Bounds", _bounds(study)))
    keys_read = {key for method in methods for key in METHODS[method].reads}
    if "lambda_from" in keys_read:
        facts.append(Fact("Penalty of ReuseCov", PENALTY_RULES[study.penalty_rule]))
    if "heritability" in keys_read:
        stated = study.stated_heritability
        words = "estimated from the released statistics" if stated is None else f"stated as {stated:g}"
        facts.append(Fact("Heritability for BLUP", words))
    facts += [Fact("Choice of a method", words.replace("`", "")) for words in study.choice]
    facts += [Fact("Public effects", words) for words in study.effects]
    if "joint_projection" in keys_read:
        words = (
            f"joint, all outcomes or {study.words.variants} into one ball"
            if study.is_joint
            else "each into its own ball"
        )
        facts.append(Fact("Projections", words))
    method_texts = (texts for name, texts in (study.facts or {}).items() if name in methods)
    facts += [Fact(*fact) for texts in method_texts for fact in texts.items()]
    if methods and max(study.outcome_counts) > 1:
        shared = study.outcome_budget == "joint"
        words = (
            "joint, all outcomes share ε and δ" if shared else "separate, each outcome has ε and δ for itself"
        )
        facts.append(Fact("Budget of outcomes", words))
    return facts


def distinct_terms(data: "ReportData") -> dict[Terms, list[Fit]]:
    """Return the distinct `Terms` of a study's private fits, each with the fits that have them."""
    fits, codes = label_fits(data.metrics)
    records = data.metrics.assign(fit=codes).drop_duplicates("fit").set_index("fit")
    fits_by_terms = {}
    for code, fit in enumerate(fits):
        if fit.is_private:
            fit_terms = Terms.of(fit, records.loc[code], rows=data.study.rows, **_of_unit(data.study))
            fits_by_terms.setdefault(fit_terms, []).append(fit)
    return fits_by_terms


def has_bounds(methods: Collection[str]) -> bool:
    """Return whether any of these methods is fitted from statistics within the study's bounds."""
    return any(METHODS[method].is_post_processing or METHODS[method].is_steered for method in methods)


def _bounds(study: "StudyInfo") -> str:
    if study.bounds == Bounds.PAPER:
        return "the PRIMO paper’s: rows less their own mean, no intercept, the norm of X’X as a whole"
    if study.bounds != Bounds.TIGHT:
        return "worst-case, what the coding of genotypes and the bound on every outcome allow"
    of_features = f"{study.genotype_clip:g} for {study.words.features}"
    return f"tight, factors {of_features} and {study.outcome_clip:g} for outcomes"


def _of_unit(study: "StudyInfo") -> dict[str, Any]:
    """Return what a unit holds, as keyword arguments for the functions that describe it."""
    return {"has_covariates": bool(study.covariates), "features": study.words.features}


def _is_tight(data: "ReportData") -> bool:
    return data.study.bounds == Bounds.TIGHT and has_bounds(_private_methods(data))


def _private_methods(data: "ReportData") -> set[str]:
    return set(data.metrics.loc[data.metrics["protection"] != Protection.NONE, "method"])


def _said_of(name: str, methods: Collection[str]) -> list[str]:
    """Return the texts in a column of the registry for these methods, each text once."""
    texts = (getattr(row, name) for method, row in METHODS.items() if method in methods)
    return list(dict.fromkeys(filter(None, texts)))


def _run(data: "ReportData") -> dict[str, Any]:
    return {
        "n_training": sorted(set(data.metrics["n_rows"])),
        "facts": method_facts(data.study, _private_methods(data)),
        "is_tight": _is_tight(data),
        "other_bounds": _said_of("bounds", _private_methods(data)),
        "clipping": data.clipping,
    }


def _privacy(data: "ReportData") -> dict[str, Any]:
    fits_by_terms, promises = distinct_terms(data), {}
    for privacy_terms, fits in fits_by_terms.items():
        protection = fits[0].protection
        words = promise(protection, privacy_terms.neighbours, privacy_terms.unit, **_of_unit(data.study))
        promises.setdefault(str(protection), words)
    fits = [fit for group in fits_by_terms.values() for fit in group]
    methods = {fit.method: fit.method_name for fit in fits}
    return {
        "terms": fits_by_terms,
        "promises": promises,
        "accountings": {ACCOUNTING_NAMES[fit.accounting]: ACCOUNTINGS[fit.accounting] for fit in fits},
        "other_accountings": _said_of("accounting", methods),
        # Post-processing of the same noisy statistics.
        "shared_draws": [name for method, name in methods.items() if METHODS[method].is_post_processing],
        "is_tight": _is_tight(data),
    }


RUN = Section("What was run", "run.html", _run, anchor="run")
PRIVACY = Section("What the privacy terms mean", "privacy.html", _privacy, anchor="privacy", label="Privacy")
PRIVACY_OF_OUTCOME = Section(PRIVACY.title, PRIVACY.template, same_for_all(_privacy))
