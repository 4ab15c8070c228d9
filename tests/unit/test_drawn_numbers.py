"""At the door of releases: every number in a file of noisy statistics is drawn, or named here as public."""

import json

import numpy as np
import pytest

from dpgrs.io.replicates import load_labelled
from dpgrs.methods import reusecov
from dpgrs.methods.registry import methods_that
from outcome_files import changed_outcomes
from step_studies import NAMES, Study

RELEASED = methods_that("may_be_released")

# So many keys that no drawn number is the same under all: see `test_release__every_number_is_drawn`.
N_KEYS = 6
# One mechanism each, with public frequencies.
CODED = ("reusecov-gauss", "k-blup")
# What a label says of a release beside what was drawn: nothing of it may hang on data or noise.
PUBLIC_TERMS = {"request", "n_outcomes", "outcomes", "mechanism", "events", "ld"}
# Public arrays: where zero lies, by the frequencies of the public panel.
PUBLIC_ARRAYS = {"origin", "means", "slopes"}
# What follows from public and drawn numbers: test_steered.py.
DERIVED = {"matrix", "places", "centre"}


def released(folder, monkeypatch, method, *, key, bounds, with_others=False):
    """Release a study under a key; with other people and outcomes if asked for. Return label and arrays."""
    folder.mkdir(mode=0o700)
    study = Study(folder, monkeypatch)
    (folder / "key" / "study.key").write_bytes(bytes([key]) * 32)
    if with_others:
        with changed_outcomes(folder / "outcomes.zarr") as outcomes:
            outcomes.is_training[:20] = False
            for values in outcomes.values.values():
                values *= -0.5
    # Rows on which an outcome is known are counted in one of both ways of bounds.
    missing = "counted" if bounds == "tight" else "none"
    terms = {"accounting": "gdp", "epsilon": 0.5, "bounds": bounds}
    config = study.settings(method, pure_epsilon="2", missing=missing, **terms)
    ((label, arrays),) = load_labelled(study.release(config))
    return label, arrays


def public_part(label, arrays):
    """Return what must be public, as text, the ids of requests left out: these are marks of the data."""
    terms = {name: label[name] for name in PUBLIC_TERMS & label.keys()}
    events = [{**event, "request": ""} for event in terms["events"]]
    named = {name: arrays[name].tolist() for name in PUBLIC_ARRAYS & arrays.keys()}
    own = {name: array for name, array in arrays.items() if name not in DERIVED}
    shapes = {name: [array.shape, str(array.dtype)] for name, array in own.items()}
    return json.dumps([terms | {"events": events}, named, shapes], sort_keys=True)


def drawn_part(label, arrays):
    """Return all other numbers, a dict of name to array; choices are coarse, so all of them are one."""
    rest = {name: value for name, value in label.items() if name not in PUBLIC_TERMS | {"requests"}}
    rest |= {name: array for name, array in arrays.items() if name not in PUBLIC_ARRAYS | DERIVED}
    if "chosen" in rest:
        rest["chosen"] = np.array(np.ravel_multi_index(rest["chosen"].ravel(), [4] * rest["chosen"].size))
    return {name: np.asarray(value) for name, value in rest.items() if value is not None}


@pytest.mark.parametrize(
    ("method", "bounds"),
    [(method, "worst-case") for method in RELEASED] + [(method, "tight") for method in CODED],
)
def test_release__every_number_is_drawn(method, bounds, tmp_path, monkeypatch):
    """A number that is the same under all keys was not drawn: it is exact, or made of what is exact.

    Noise has a standard deviation of 60 grid steps or more, which is asserted, so a number is the same under
    two keys with a chance below 1/200, and under all with one below 4e-12; so are the choices together.
    """
    # Counts so small are one public number.
    monkeypatch.setattr(reusecov, "SMALLEST_KNOWN", 0.0)
    releases = [
        released(tmp_path / str(key), monkeypatch, method, key=key, bounds=bounds) for key in range(N_KEYS)
    ]
    others = released(tmp_path / "others", monkeypatch, method, key=0, bounds=bounds, with_others=True)
    assert len({public_part(*one) for one in [*releases, others]}) == 1
    events = releases[0][0]["events"]
    assert min(event["sigma"] / event["step"] for event in events if event["family"] == "gaussian") > 60
    drawn = [drawn_part(*one) for one in releases]
    assert drawn[0]
    for name, values in drawn[0].items():
        assert values.dtype != object, name
        same = np.all([one[name] == values for one in drawn[1:]], axis=0)
        assert not same.any(), name
    assert set(releases[0][0]["outcomes"]) == set(NAMES)
