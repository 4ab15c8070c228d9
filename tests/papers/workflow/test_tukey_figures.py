"""The Tukey paper's experiments in quick form, with margins."""

import pandas as pd
import pytest

from experiment_runs import numbers_of, run_experiment

pytestmark = [pytest.mark.experiments, pytest.mark.nightly]


def test_check__more_coefficients_need_more_models_and_the_published_tight_one_fewest(tmp_path):
    run_experiment("tukey_check", tmp_path)
    numbers = numbers_of("tukey_check", tmp_path).astype({"d": int}).set_index(["groups", "d"])
    for groups in numbers.index.unique("groups"):
        own = numbers.loc[groups]
        # 400 and 1,000 of 200, 400, 600 and 1,000.
        assert int(own.loc[2, "models, tight"]) < int(own.loc[11, "models, tight"])
        assert int(own.loc[11, "models, tight, as published"]) < int(own.loc[11, "models, tight"])
        assert (own["passes of 1,000, original"] > 0.99).all()


def test_models__least_squares_is_the_papers_and_tukey_reaches_it_on_its_synthetic_set(real_data, tmp_path):
    run_experiment("tukey_models", tmp_path, data=real_data)
    numbers = numbers_of("tukey_models", tmp_path).set_index("set").replace("", float("nan"))
    gaps = numbers["least squares, training"].astype(float) - numbers["least squares, paper"].astype(float)
    assert gaps.abs().max() < 0.005
    assert float(numbers.loc["synthetic", "Tukey, training"]) > 0.98
    assert float(numbers.loc["synthetic", "AdaSSP, training"]) > 0.98
    folder = tmp_path / "results" / "experiments" / "quick" / "tukey_models"
    table = pd.read_csv(folder / "table.tsv", sep="\t")
    of_tukey = table[table["method"] == "tukey"].set_index(["part", "models"])
    # Too few for ten coefficients and more; 2,000 models of 11 would need more rows than there are.
    assert of_tukey.loc[("synthetic", 500), "released"] == 0
    assert ("synthetic", 2000) not in of_tukey.index
    assert of_tukey.loc[("diamonds-ranked", 2000), "released"] == 1


def test_sgd__is_near_least_squares_where_it_is_tuned(tmp_path):
    run_experiment("tukey_sgd", tmp_path)
    numbers = numbers_of("tukey_sgd", tmp_path).set_index("set").loc["synthetic"]
    assert float(numbers["tuned, training"]) > 0.98
    assert 0.4 < float(numbers["default, training"]) < 0.9
    assert float(numbers["tuned, test"]) == pytest.approx(float(numbers["tuned, training"]), abs=0.01)
