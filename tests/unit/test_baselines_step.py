"""Baselines in the bounds of a study."""

import numpy as np

from dpgrs.io.trials import load_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.registry import BASELINES
from dpgrs.steps.baselines import fit_baselines
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.steps.noise import add_noise
from step_settings import settings_for
from step_studies import N_VARIANTS, Study

GRID = {"protections": ["full"], "accountings": ["gdp"], "epsilons": [1e4], "delta": 1e-5}
GRID |= {"sizes": [N_VARIANTS], "counts": [1], "neighbours": "add-remove", "unit": "person"}
GRID |= {"gram_share": 0.3, "count_share": 0.1, "trial": 1, "seed": 1}


def test_fit_baselines__of_sums_keep_to_the_studys_bounds(tmp_path, monkeypatch):
    """With hardly any noise and no penalty the methods of sums are least squares of the rows as clipped."""
    study, sgd, bas = Study(tmp_path, monkeypatch), [], []
    outcomes, noisy, weights = (tmp_path / f"{name}.npz" for name in ("outcomes", "noisy", "weights"))
    for bounds in ("worst-case", "tight"):
        statistics = study.sum_up(study.settings("naive", bounds=bounds), count=1)
        fit_baselines("panel", outcomes, statistics, output=weights, methods=BASELINES, penalty=0, **GRID)
        fits = {label["method"]: LinearFit(**fit) for label, fit in load_labelled(weights)}
        endings = [label["statuses"] for label, _ in load_labelled(weights) if "statuses" in label]
        assert endings == [["ok"]] * 2
        add_noise(statistics, outcomes, output=noisy, events=tmp_path / "events.json", **GRID)
        settings = settings_for("fit-weights", methods=["reusecov-gauss"], regression={"lambda": 0})
        fit_weights(settings, noisy, output=weights, seconds=tmp_path / "seconds.tsv")
        ((_, fit),) = load_labelled(weights)
        for method in ("naive", "adassp"):
            predicted = fits[method].predict(study.X)
            np.testing.assert_allclose(predicted, LinearFit(**fit).predict(study.X), atol=0.01)
        sgd.append(fits["dp-sgd"].weights)
        bas.append(fits["bas"])
    # DP-SGD reads rows of its own; boosted AdaSSP centres and clips them in the same way.
    np.testing.assert_array_equal(*sgd)
    assert [fit.means.any() for fit in bas] == [False, True]
    assert np.abs(bas[0].weights - bas[1].weights).max() > 1e-3
