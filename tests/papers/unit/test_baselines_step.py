"""Baselines in the bounds of a study."""

import numpy as np
import pandas as pd

from dpgrs.io.files import write_table
from dpgrs.io.replicates import load_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.steps.fit_weights import fit_weights
from draws import draw_all, draw_seeded
from step_settings import settings_for
from step_studies import N_VARIANTS, Study

GRID = {"protections": ["full"], "accountings": ["gdp"], "epsilons": [1e4], "delta": 1e-5}
GRID |= {"sizes": [N_VARIANTS], "counts": [1], "neighbours": "add-remove", "unit": "person"}
GRID |= {"gram_share": 0.3, "count_share": 0.1}
METHODS, PLAIN = ["reusecov-gauss", "naive", "adassp", "dp-sgd", "bas", "tukey"], {"lambda": 0}


def test_draw__repeats_and_keeps_to_the_protection_and_relation_of_a_method(tmp_path, monkeypatch):
    study = Study(tmp_path, monkeypatch)
    statistics = study.sum_up(study.settings("naive"), count=1)
    grid, kept = GRID | {"protections": ["full", "label"], "epsilons": [3.0]}, []
    for neighbours in ("add-remove", "add-remove", "replace-one"):
        terms = grid | {"neighbours": neighbours}
        drawn = draw_all(tmp_path, METHODS, statistics=statistics, **terms)
        items = {name: load_labelled(path) for name, path in drawn.items()}
        kept.append({name: [arrays for _, arrays in found] for name, found in items.items()})
        sides = {
            name: [label["request"]["protection"] for label, _ in found] for name, found in items.items()
        }
        assert sides.pop("reusecov-statistics") == ["full", "label"]
        assert sides.pop("sgd-fits") == ["full"] * (neighbours == "add-remove")
        assert set(map(tuple, sides.values())) == {("full",)}
    first, again, other = kept
    np.testing.assert_equal(first, again)
    for name in ("naive-fits", "boosted-fits"):
        assert (first[name][0]["weights"] != other[name][0]["weights"]).all()


def test_fit_weights__what_is_fitted_as_it_is_drawn_took_as_long_as_that(tmp_path, monkeypatch):
    study = Study(tmp_path, monkeypatch)
    statistics = study.sum_up(study.settings("naive"), count=1)
    drawn = draw_all(tmp_path, ["naive", "adassp"], statistics=statistics, **GRID)
    took = []
    for number, path in enumerate(drawn.values()):
        took.append(path.with_suffix(".tsv"))
        write_table(took[-1], pd.DataFrame({"seconds": [100.0 + number] * len(load_labelled(path))}))
    paths = {"output": tmp_path / "weights.npz", "seconds": tmp_path / "seconds.tsv"}
    settings = settings_for("fit-weights", methods=["naive", "adassp"])
    fit_weights(settings, drawn.values(), draw_seconds=took, **paths)
    found = pd.read_csv(paths["seconds"], sep="\t")["seconds"]
    (own,) = {100.0 + number for number, name in enumerate(drawn) if name == "naive-fits"}
    for (label, _), seconds in zip(load_labelled(paths["output"]), found, strict=True):
        assert (seconds == own) == (label["method"] == "naive")


def test_draw__of_sums_keep_to_the_studys_bounds(tmp_path, monkeypatch):
    """With hardly any noise and no penalty the methods of sums are least squares of the rows as clipped."""
    study, sgd, bas = Study(tmp_path, monkeypatch), [], []
    for bounds in ("worst-case", "tight"):
        statistics = study.sum_up(study.settings("naive", bounds=bounds), count=1)
        drawn = draw_all(tmp_path, METHODS, statistics=statistics, bounds=bounds, regression=PLAIN, **GRID)
        paths = {"output": tmp_path / "weights.npz", "seconds": tmp_path / "seconds.tsv"}
        settings = settings_for("fit-weights", methods=METHODS, regression=PLAIN)
        fit_weights(settings, drawn.values(), **paths)
        found = load_labelled(paths["output"])
        fits = {label["method"]: LinearFit.of(fit) for label, fit in found}
        # All end well, also those that may have no model.
        assert not any("statuses" in label for label, _ in found)
        assert (pd.read_csv(paths["seconds"], sep="\t")["seconds"] > 0).all()
        for method in ("naive", "adassp"):
            predicted = fits[method].predict(study.X)
            np.testing.assert_allclose(predicted, fits["reusecov-gauss"].predict(study.X), atol=0.01)
        sgd.append(fits["dp-sgd"].weights)
        bas.append(fits["bas"])
    # DP-SGD reads rows of its own; boosted AdaSSP centres and clips them in the same way.
    np.testing.assert_array_equal(*sgd)
    assert [fit.means.any() for fit in bas] == [False, True]
    assert np.abs(bas[0].weights - bas[1].weights).max() > 1e-3


def test_draw__dp_sgd_descends_as_the_settings_say(tmp_path, monkeypatch):
    study = Study(tmp_path, monkeypatch)
    study.sum_up(study.settings("naive"), count=1)
    terms = {"files": {"variant_set": "variant_set"}, "mechanism": "sgd-fits", "method": ["dp-sgd"]} | GRID
    changes = [{}, {"steps": 3}, {"sampling_rate": 0.5}, {"clip": 0.25}, {"learning_rate": 0.1}]
    defaults = {"steps": 100, "sampling_rate": 0.1, "clip": None, "learning_rate": 1}
    found = []
    for sgd in (defaults, *changes):
        ((_, arrays),) = draw_seeded(
            tmp_path / "outcomes.zarr", tmp_path / "sgd.npz", **terms, regression={"sgd": sgd}
        )
        found.append(arrays["weights"].tobytes())
    assert found[0] == found[1]
    assert len(set(found)) == len(changes)
