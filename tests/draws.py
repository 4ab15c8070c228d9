"""The step that draws, run in this process by the terms of a grid of requests."""

from dpgrs.io.replicates import load_labelled
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.mechanisms import mechanisms_of, request_of
from dpgrs.steps.draw import draw
from step_settings import settings_for

SHARED = "reusecov-statistics"
PLACES = {
    "protections": "privacy.protection",
    "accountings": "privacy.accounting",
    "epsilons": "privacy.epsilon",
    "sizes": "variants.size",
    "counts": "outcomes.count",
    "outcome_bound": "outcomes.bound",
    "n_choices": "screening.size",
}


def sections_of(*, seed=1, screening=None, regression=None, **terms):
    """Return sections of settings that ask for a grid: what has no place of its own is of `privacy`.

    Examples
    --------
    >>> sections_of(sizes=[5], unit="person")["variants"], sections_of(unit="person")["privacy"]
    ({'size': [5]}, {'unit': 'person'})
    """
    sections = {"seed": seed, "screening": screening or {}, "regression": regression or {}}
    sections |= {name: {} for name in ("privacy", "variants", "outcomes")}
    for name, value in terms.items():
        section, _, key = PLACES.get(name, f"privacy.{name}").partition(".")
        sections[section][key] = value
    return sections


def draw_seeded(outcomes, output, *, mechanism=SHARED, method=(), replicate=1, files=None, **terms):
    """Draw for a benchmark; return label and arrays of all draws.

    Parameters
    ----------
    outcomes, output : paths.
    files : dict of paths that the mechanism takes: statistics, variant set, choices.
    **terms : as in `sections_of`.
    """
    settings, events = settings_for("draw", **sections_of(**terms)), output.with_suffix(".json")
    known = {"mechanism": mechanism, "method": method, "replicate": replicate}
    draw(settings, outcomes, **known, **files or {}, output=output, events=events)
    return load_labelled(output)


def fit_as_released(label, drawn, config):
    """Fit what a release drew by the method of a configuration; returns a LinearFit."""
    terms = {"request": request_of(label), "terms": FitTerms.of(config.regression.as_dict())}
    return fit_released(config.methods[0], drawn, **terms)


def draw_all(folder, methods, *, statistics=None, variant_set="variant_set", **terms):
    """Draw all that a benchmark of some methods draws, from a folder's outcomes; return paths."""
    places, drawn = {"statistics": statistics, "variant_set": variant_set}, {}
    for mechanism in mechanisms_of(methods, is_release=False):
        files = {name: path for name, path in places.items() if name in mechanism.takes}
        if None in files.values():
            continue
        drawn[mechanism.name] = places[mechanism.name] = folder / f"{mechanism.name}.npz"
        named = {"mechanism": mechanism.name, "files": files}
        named |= {"method": [one for one in mechanism.drawn_for(methods) if one]}
        draw_seeded(folder / "outcomes.zarr", drawn[mechanism.name], **named, **terms)
    return drawn
