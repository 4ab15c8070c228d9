"""The frame of experiments: replicates are jobs of their own, and nothing runs twice."""

import pandas as pd
import pytest

from dpgrs_papers.experiments.dp_sis_replicate import KNOWN, PAPER, PUBLIC
from dpgrs_papers.experiments.frame import find
from dpgrs_papers.experiments.genome_screening import COMPARED
from dpgrs_papers.experiments.plans import Form, read_plans
from dpgrs_papers.experiments.scale import TERMS
from experiment_runs import SNAKEFILE, numbers_of, run_experiment
from nightly import at_night

pytestmark = pytest.mark.experiments
PLANS = SNAKEFILE.with_name("experiments.yaml")


def test_instability__sis_takes_more_than_two_stage_and_a_lost_replicate_is_run_alone(tmp_path):
    run_experiment("dp_sis_instability", tmp_path)
    numbers = numbers_of("dp_sis_instability", tmp_path)
    taken = numbers.set_index(["design", "reading", "method"])["features 1 to 5"].sort_index()
    for design in ("W1", "W1/W2"):
        own = taken[design, "noise of variance 0.1"]
        # Of 20 data sets; 0.9 and 0.5 of 1,000.
        assert own["SIS, correlation"] > 0.75
        assert own["two-stage, support"] < 0.7
    folder = tmp_path / "results" / "experiments" / "quick" / "dp_sis_instability"
    page = (folder / "report" / "index.html").read_text()
    assert "Quick form" in page
    assert "<svg" in page
    table, kept = (folder / "table.tsv").read_bytes(), folder / "replicates" / "W1" / "1.tsv"
    before = kept.stat().st_mtime_ns
    assert "Nothing to be done" in run_experiment("dp_sis_instability", tmp_path)
    (folder / "replicates" / "W1-W2" / "2.tsv").unlink()
    (folder / "summary.md").unlink()
    assert "rule run_replicate" in run_experiment("dp_sis_instability", tmp_path)
    assert (folder / "table.tsv").read_bytes() == table
    assert kept.stat().st_mtime_ns == before


@pytest.mark.parametrize("form", [None, at_night("whole")])
def test_experiments__plan_of_all(form, real_data, tmp_path):
    plan = run_experiment("all", tmp_path, "--dry-run", data=real_data, form=form)
    found = read_plans(PLANS, form or Form.CUT)
    n_replicates = sum(len(one.part_files) * one.replicates for one in found.values())
    assert f"run_replicate {n_replicates}" in " ".join(plan.split())


def test_experiments__each_plan_has_a_module():
    plans = read_plans(PLANS, Form.CUT)
    assert len(plans) > 0
    assert all(find(name).shows for name in plans)


@pytest.mark.nightly
def test_kendall_tables__paper_and_ours_side_by_side(real_data, tmp_path):
    run_experiment("kendall_tables", tmp_path, data=real_data)
    numbers = numbers_of("kendall_tables", tmp_path).set_index(["set", "reading"])
    assert set(numbers["k"]) == {5}
    # Of few replicates .17 was seen, .2 and more under other keys of noise.
    for name, paper, least in (("sulfur", 0.37, 0.1), ("Bike_Sharing_Demand", 0.32, 0.1)):
        assert float(numbers.loc[(name, "paper"), "k-tukey"]) == paper
        for reading in ("ours", "terms of the public code"):
            assert float(numbers.loc[(name, reading), "k-tukey"]) > least
            assert float(numbers.loc[(name, reading), "k-bas"]) < 0
        assert float(numbers.loc[(name, "ours"), "nondp"]) > 0.3


def test_tables_best__blup_is_above_what_the_paper_has(real_data, tmp_path):
    run_experiment("tables_best", tmp_path, data=real_data)
    numbers = numbers_of("tables_best", tmp_path).set_index("set").loc["sulfur"]
    assert float(numbers["DPKendall paper's best"]) == 0.37
    assert 0.3 < float(numbers["nondp"]) < 0.5
    for relation in ("add-remove", "replace-one"):
        assert float(numbers[f"blup, {relation}"]) > 0.42


def test_genome_screening__finds_without_noise_what_it_finds_at_large_epsilon(real_data, tmp_path):
    run_experiment("genome_screening", tmp_path, data=real_data)
    numbers = numbers_of("genome_screening", tmp_path).set_index("selector")
    assert set(numbers["variants of"]) == {"region"}
    assert set(numbers.index) == set(COMPARED)
    for name in COMPARED:
        # "itself + by a partner alone ± standard error"
        found = {at: numbers.loc[name, at].split() for at in ("epsilon 50", "without noise")}
        shares = {at: [float(words[0]), float(words[2])] for at, words in found.items() if words}
        # By chance 5 of 60 variants are chosen, and their partners; SubLasso's small groups see little more.
        assert sum(shares["without noise"]) > (0.2 if name == "sublasso" else 0.4)
        assert shares["without noise"][0] > 0.2
        if name == "lasso, not private":
            assert list(shares) == ["without noise"]
        elif name != "sublasso":
            assert shares["epsilon 50"] == pytest.approx(shares["without noise"], abs=0.1)
            assert float(numbers.loc[name, "of the exact choice at 50"]) > 0.9


@pytest.mark.nightly
def test_kendall_time__has_exponents_of_both(tmp_path):
    run_experiment("kendall_time", tmp_path)
    numbers = numbers_of("kendall_time", tmp_path).set_index("selector")
    assert set(numbers.index) == {"DPKendall", "SubLasso"}
    assert (numbers["seconds at 1000 rows, 16 features"].astype(float) > 0).all()
    assert numbers["exponent of features"].str.contains("paper").all()


@pytest.mark.nightly
def test_scale__runs_whole_studies_and_models_their_seconds(tmp_path):
    run_experiment("scale", tmp_path, is_warm=False)
    table = pd.read_csv(tmp_path / "results" / "experiments" / "quick" / "scale" / "table.tsv", sep="\t")
    for part, people in (("start", 60), ("base", 120), ("wide", 60)):
        own = table[table["part"] == part]
        assert set(TERMS["choices" if part == "wide" else "sums"]) < set(own["rule"])
        assert set(own["people"]) == {people}
        assert (own["seconds"] > 0).all()
    numbers = numbers_of("scale", tmp_path).set_index(["study", "rule"])
    assert set(numbers.index) == {(kind, rule) for kind, rules in TERMS.items() for rule in rules}


def test_errata__published_recipes_lose_more_than_they_claim_and_ours_do_not(tmp_path):
    run_experiment("errata", tmp_path)
    folder = tmp_path / "results" / "experiments" / "quick" / "errata"
    table = pd.read_csv(folder / "table.tsv", sep="\t")
    is_ours = table["recipe"] == "ours"
    assert is_ours.sum() == (~is_ours).sum() == len(table) / 2 == 10
    # What is drawn shows it, by a bound that fails once in a million.
    assert (table["observed"] > table["claimed"])[~is_ours].all()
    assert (table["observed"] <= table["claimed"])[is_ours].all()
    exact = table["exact"].fillna(table["observed"])
    assert (exact >= table["observed"]).all()
    assert (exact <= table["claimed"] * (1 + 1e-9))[is_ours].all()


@pytest.mark.nightly
@pytest.mark.realdata
def test_dp_sis__is_ahead_of_two_stage_up_to_the_truth_of_sorlie(real_data, tmp_path):
    require_microarray(real_data)
    run_experiment("dp_sis", tmp_path, data=real_data)
    folder = tmp_path / "results" / "experiments" / "quick" / "dp_sis"
    table = pd.read_csv(folder / "table.tsv", sep="\t").set_index(["part", "method", "k", "epsilon"])
    found = table["found"].sort_index()
    # Two of five coefficients, and of six, are not 0: where the paper's curves end.
    for method in (PUBLIC, KNOWN, PAPER):
        assert found["sorlie", method, 5, 20] == pytest.approx(0.4, abs=0.1)
        assert found["sorlie", method, 6, 20] == pytest.approx(1 / 3, abs=0.1)
        assert found["sorlie", method, 5, 0.1] < 0.2
    assert found["sorlie", PAPER, 5, 20] >= found["sorlie", "two-stage, supports", 5, 20]
    # Large scores are told from others, whatever they are worth.
    for measure in ("top", "great", "good"):
        assert table[measure]["sorlie", PUBLIC, 10, 0.1] == 0
    assert {path.stem for path in (folder / "figures").glob("*.svg")} == {"accuracy", "lead", "sets"}


@pytest.mark.nightly
@pytest.mark.realdata
def test_table_1__of_two_sets(real_data, tmp_path):
    require_microarray(real_data)
    run_experiment("dp_sis_table1", tmp_path, data=real_data)
    r2 = numbers_of("dp_sis_table1", tmp_path).set_index("set")["max-scaled"]
    assert r2["christensen"] == pytest.approx(0.7804, abs=0.002)
    assert r2["west"] == pytest.approx(0.6644, abs=0.002)


@pytest.mark.nightly
@pytest.mark.realdata
def test_primo_mnist__methods_are_in_their_order(real_data, tmp_path):
    if not (real_data / "mnist").is_dir():
        pytest.skip(f"no images at {real_data / 'mnist'}; they are of MNIST, as in PRIMO's figure 6")
    run_experiment("primo_mnist", tmp_path, data=real_data)
    numbers = numbers_of("primo_mnist", tmp_path)
    blup, ridge = (
        numbers["BLUP"].astype(float),
        numbers["Ridge, best lambda (peeked), not private"].astype(float),
    )
    assert set(numbers["outcomes"]) == {"pixels on pixels", "a noisy linear model of pixels"}
    # 0.63 and 0.67 at one pixel, 0.31 and 0.46 at all.
    assert (blup < ridge + 0.03).all()
    assert (blup > ridge / 2).all()
    of_paper = "ReuseCovGauss, best lambda (peeked), the paper's terms"
    assert (blup > numbers[of_paper].astype(float)).all()


@pytest.mark.nightly
def test_primo_gaussian__blup_is_near_what_the_outcomes_hold(tmp_path):
    run_experiment("primo_gaussian", tmp_path)
    numbers = numbers_of("primo_gaussian", tmp_path).set_index(["data", "d", "l"]).sort_index()
    ridge = numbers["Ridge, best lambda (peeked), not private"].astype(float)
    blup = numbers["BLUP"].astype(float)
    for count in (1, 30):
        # 0.5 is explained; of networks about 0.73 of it by a linear score.
        assert ridge["linear", 10, count] == pytest.approx(0.5, abs=0.1)
        assert ridge["network", 10, count] < ridge["linear", 10, count] - 0.1
        assert blup["linear", 10, count] == pytest.approx(ridge["linear", 10, count], abs=0.05)
        # At large n privacy costs little.
        assert blup["large", 30, count] < 0.02
    assert set(numbers["shown"].xs("large")) == {"log MSE ratio"}


def require_microarray(data):
    if not (data / "microarray").is_dir():
        pytest.skip(f"no sets at {data / 'microarray'}; they are five of the DP-SIS paper's")
