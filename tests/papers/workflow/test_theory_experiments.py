"""Experiments of theorems and times, made up alone, in quick form with margins: one run for all."""

import pytest

from experiment_runs import numbers_of, run_experiment, table_of

NAMES = ["primo_bounds", "screening_theorems", "tukey_depth", "tukey_histograms", "tukey_time"]

pytestmark = pytest.mark.experiments


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("theory")
    run_experiment(" ".join(NAMES), folder)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_target__has_a_figure_and_a_verdict(folder, name):
    own = folder / "results" / "experiments" / "quick" / name
    assert len(list((own / "figures").glob("*.svg"))) >= 1
    assert "**Reproduced" in (own / "summary.md").read_text()


def test_primo_bounds__hold_and_have_their_slopes(folder):
    numbers, table = numbers_of("primo_bounds", folder), table_of("primo_bounds", folder)
    # Five axes and four numbers of outcomes a theorem.
    assert len(numbers) == 4 * 9
    assert (table["failed"] == 0).all()
    gauss = numbers[(numbers["theorem"] == "1, Gauss") & (numbers["eigenvalues"] == "near")]
    assert float(gauss["its slope"].iloc[0]) == pytest.approx(-1, abs=0.2)
    measured = table.dropna(subset=["measured"])
    # 13 to 44 times as high.
    assert (measured["bound"] / measured["measured"]).between(5, 100).all()


def test_screening_theorems__hold_but_for_unequal_and_weak_effects(folder):
    table = table_of("screening_theorems", folder)
    failed = table[table["holds"] == "no"]
    assert set(failed["part"]) == {"counterexample", "root"}
    law = table[table["part"] == "arctan"]
    # 0.01 at the most, of 20,000 rows.
    assert (law["stated"] - law["measured"]).abs().max() < 0.03
    equal = table[(table["part"] == "recovery") & (table["holds"] == "yes")]
    assert equal["measured"].min() > 0.9


def test_depth__the_theorem_holds_for_the_exact_one_alone(folder):
    numbers = numbers_of("tukey_depth", folder)
    shares = {
        name: numbers[f"{name}, largest share above Phi(-r)"].astype(float)
        for name in ("exact", "approximate")
    }
    # 0.06 and 0.32, of 60 and 150 models.
    assert shares["exact"].max() < 0.1
    is_correlated = numbers["correlation"].astype(float) == 0.9
    assert shares["approximate"][is_correlated].min() > 0.2
    assert (shares["exact"] <= shares["approximate"]).all()
    assert (numbers["mean exact / approximate"].astype(float) < 1).all()


def test_histograms__are_normal_in_the_middle_and_heavy_in_the_tails(folder):
    (row,) = numbers_of("tukey_histograms", folder).to_dict("records")
    assert (row["set"], row["models"]) == ("synthetic", 2000)
    # 0.09, 0.43 and 50.
    assert row["of the same median and quartiles"] < 0.12
    assert row["distance to the normal of the same mean and sd"] > 0.3
    assert row["sd over that of the middle half"] > 10


def test_time__grows_with_models_and_stays_below_a_second(folder):
    table = table_of("tukey_time", folder)
    # 0.02 s at the most.
    assert table["seconds"].between(0, 1, inclusive="neither").all()
    of_models = table[(table["part"] == "m") & (table["step"] == "models")].set_index("m")
    assert of_models["seconds"].loc[400] > of_models["seconds"].loc[100]
