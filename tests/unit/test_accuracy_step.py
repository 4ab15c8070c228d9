"""The metrics of a release: charged once, about the right weights, people and bounds, or withheld."""

from operator import mul
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.evaluation.metrics import RELEASED_METRICS
from dpgrs.evaluation.private_metrics import AccuracyRequest, accuracy_sums, grid_weights, measure
from dpgrs.genotypes.dosages import LARGEST_DOSAGE, half_coded
from dpgrs.io.json_files import write_json
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.linalg.statistics import coded_rows
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.noise.sources import ReleaseNoise
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.release.constants import prediction_constants, published
from dpgrs.steps import compute_statistics as statistics_step
from dpgrs.steps import draw as draw_step
from dpgrs.steps import measure_release as step
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.study.held_out import held_out_sums
from dpgrs.study.released_accuracy import load_accuracy, load_reference_sums
from draws import SHARED, sections_of
from ledger_requests import ACCOUNT, DATASET, create_fixed_key, new_ledger
from outcome_files import write_outcomes
from random_cohorts import random_bits
from refused import refused
from step_settings import settings_for
from variant_sets import variants_in_memory

N_VARIANTS, N_PEOPLE, EPSILON, PENALTY = 4, 3000, 20.0, 0.1
FIT = {"method": "reusecov-gauss", "lambda": PENALTY, "lambda_from": "fixed", "heritability": None}
NAMES = ("a", "b", "c")
IDENTITY = {
    "dataset": DATASET | {"dataset_version": "v1"},
    "genotypes": {"seed": 1, "test_share": 0.5},
    "outcomes": {"source": "file"},
}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """All that comes before the metrics of a release, one outcome with missing values."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
    monkeypatch.chdir(tmp_path)  # Snakemake's records are looked for here
    create_fixed_key()
    ledger = new_ledger(tmp_path, mu_squared="1000")
    bits = random_bits(N_VARIANTS, 2 * N_PEOPLE)
    variant_set = variants_in_memory(bits, of_size=np.arange, n_haplotypes=2 * N_PEOPLE)
    for module in (step, statistics_step):
        monkeypatch.setattr(module, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    X = coded_rows(bits, n_haplotypes=2 * N_PEOPLE, rows="people")
    rng = np.random.default_rng(11)
    Y = rng.normal(0, 0.5, (3, N_VARIANTS)) @ (X - X.mean(axis=0)).T + rng.normal(0, 0.8, (3, N_PEOPLE))
    Y[2, ::3] = np.nan
    is_training = rng.random(N_PEOPLE) < 0.5
    files = ("outcomes.npz", "statistics.npz", "noisy.npz", "weights.npz", "accuracy.npz", "metrics.tsv")
    paths = {name.partition(".")[0]: tmp_path / name for name in (*files, "sites.tsv")}
    arrays = {"X": X[~is_training], "all_X": X, "Y": Y[:, ~is_training], "all_outcomes": Y}
    study = SimpleNamespace(**paths, **arrays, is_training=is_training, ledger=ledger, root=tmp_path)
    study.sites.write_text("public sites\n")
    set_outcomes(study)
    settings = settings_for("compute-statistics", outcomes={"count": 3})
    statistics_step.compute_statistics(settings, "variant_set", study.outcomes, output=study.statistics)
    train(study)
    return study


def set_outcomes(study, *, names=NAMES, factor=1.0, is_training=None):
    """Write the outcomes of all people, multiplied by a factor; `is_training` is the study's by default."""
    is_training = study.is_training if is_training is None else is_training
    values = {N_VARIANTS: factor * study.all_outcomes}
    write_outcomes(study.outcomes, Outcomes(names, values, {}, is_training, "people"))


def test_held_out_sums__of_dosages_is_exact():
    rng = np.random.default_rng(5)
    dosages = half_coded(rng.integers(0, LARGEST_DOSAGE + 1, (3, 500)).astype(np.uint16))
    dosages[1] = dosages[0]
    units = rng.integers(-(2**12), 2**12 + 1, (1, 500)).astype(np.int16)
    # Two that nearly cancel out: their products with dosages have more bits than a float64.
    weights = np.array([[2**48 + 2**23 + 1, -(2**48), 12345677, 7654321, 2**20 + 1]])
    known = {"has_dosages": True, "n_haplotypes": 1000}
    variant_set = SimpleNamespace(genotypes=lambda columns: dosages, of_size=lambda size: None, **known)
    is_training = np.arange(500) % 3 == 0
    outcomes = SimpleNamespace(values={3: np.zeros((1, 500))}, is_training=is_training, rows="people")
    terms = {"rows": "people", "n_outcomes": 1, "outcome_bound": 3.0, "residual_bound": 3.0}
    request = AccuracyRequest(epsilon=1.0, delta=1e-6, **terms)
    found = held_out_sums(variant_set, 3, outcomes, SimpleNamespace(units=units), weights, request)
    total = 0
    *factors, at_zero = weights[0].tolist()
    for row in np.vstack([dosages, units])[:, ~is_training].T.tolist():
        # In halves of a weight's unit, rounded down, then towards zero to whole steps of 2^8 units.
        halves = (sum(map(mul, factors, row)) >> 11) + 2 * at_zero
        steps = abs(halves) >> 9
        total += min(steps, 3 * 2**16) ** 2 >> 16
    assert found[0, 0] == total > 0


def train(study, *, outcome_budget="joint"):
    terms = {"sizes": [N_VARIANTS], "counts": [3], "epsilons": [10.0], "delta": 1e-6, "unit": "person"}
    terms |= {"neighbours": "add-remove", "gram_share": 0.5, "outcome_budget": outcome_budget}
    sections = sections_of(**terms, ledger=str(study.ledger.path))
    settings = settings_for("draw", mode="release", cohort={"rows": "people"}, **sections)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw_step, "public_identity", lambda config: IDENTITY)
        files = {"statistics": study.statistics, "sites": study.sites, "output": study.noisy}
        files["events"] = study.root / "events.json"
        draw_step.draw(settings, study.outcomes, mechanism=SHARED, **files)
    settings = settings_for("fit-weights", methods=["reusecov-gauss"], regression={"lambda": PENALTY})
    fit_weights(settings, [study.noisy], output=study.weights)


def written_by(study, evaluation, **files):
    """Run the step that measures; return the table that it wrote."""
    settings = {"methods": ["reusecov-gauss"], "regression": {"lambda": PENALTY}, "evaluation": evaluation}
    settings |= {"cohort": {"rows": "people"}, "privacy": {"ledger": str(study.ledger.path)}}
    files |= {"output": study.metrics, "accuracy": study.accuracy}
    files["events"] = study.root / "accuracy_events.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step, "public_identity", lambda config: IDENTITY)
        settings = settings_for("measure-release", **settings)
        step.measure_release(settings, study.noisy, study.outcomes, study.weights, **files)
    return pd.read_csv(study.metrics, sep="\t")


def run(study, **changes):
    charged = {"metrics": "charged", "epsilon": EPSILON, "residual_bound": 2.0} | changes
    return written_by(study, charged, variant_set="variant_set", sites=study.sites)


def fit_of(study):
    ((_, fit),) = load_labelled(study.weights)
    return LinearFit.of(fit)


def load(study):
    ((released, _),) = load_labelled(study.noisy)
    return load_accuracy(study.accuracy, study.ledger.read(), released, fit=FIT)


def spent(study):
    return float(study.ledger.read().spent(ACCOUNT).mu_squared)


def test_measure_release__measures_the_held_out_people(study):
    before = spent(study)
    table = run(study)
    request = AccuracyRequest(
        rows="people", n_outcomes=3, outcome_bound=3.0, residual_bound=2.0, epsilon=EPSILON, delta=1e-6
    )
    exact = measure(
        accuracy_sums(study.Y, study.X, grid_weights(fit_of(study)), outcome_bound=3.0, residual_bound=2.0),
        request=request,
    )
    assert list(table) == RELEASED_METRICS
    assert table["outcome"].tolist() == list(NAMES)
    assert set(table["status"]) == {"ok"}
    for name in ("r2", "mse"):
        error = (table[name] - getattr(exact, name)) / getattr(exact, f"{name}_sd")
        assert np.all(error != 0)
        assert np.all(np.abs(error) < 7)
    assert table["mse_nonprivate"].isna().all()
    assert spent(study) - before == pytest.approx(request.mu**2, rel=1e-9)


def test_measure_release__what_noise_drowns_is_withheld(study):
    table = run(study, epsilon=0.01)
    assert set(table["status"]) == {"withheld"}
    assert table[["r2", "mse", "mse_nonprivate"]].isna().all(axis=None)
    events, stated = load(study)
    assert len(events) == 1
    assert {one["value"] for one in stated} == {"withheld: the noise drowns it"}


def test_measure_release__again_is_a_replay(study):
    run(study)
    first, cost = (study.accuracy.read_bytes(), study.metrics.read_bytes()), study.ledger.path.read_bytes()
    study.accuracy.unlink()
    run(study)
    assert (study.accuracy.read_bytes(), study.metrics.read_bytes()) == first
    assert study.ledger.path.read_bytes() == cost


def test_measure_release__is_noted_in_the_ledger_before_it_is_stored(study, monkeypatch):
    def killed(*_):
        book = study.ledger.read()
        assert book.requests.keys() == book.outputs.keys()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(step, "save_labelled", killed)
        with pytest.raises(KeyboardInterrupt):
            run(study)
    cost = spent(study)
    assert not study.accuracy.exists()
    run(study)
    assert (spent(study), len(load(study)[0])) == (cost, 1)


def test_measure_release__changed_people_under_one_label_are_refused_before_any_draw(study, monkeypatch):
    run(study)
    before = study.ledger.path.read_bytes()
    set_outcomes(study, factor=1.01)
    monkeypatch.setattr(ReleaseNoise, "_draw", lambda *_: pytest.fail("Noise was drawn."))
    with refused("data-changed-under-version"):
        run(study)
    assert study.ledger.path.read_bytes() == before


@pytest.mark.parametrize("change", [{"epsilon": 19.0}, {"residual_bound": 2.5}])
def test_measure_release__other_terms_are_charged_and_draw_fresh_noise(study, change):
    (first,), cost = load_after(study), spent(study)
    (second,) = load_after(study, **change)
    assert first["request"] != second["request"]
    assert spent(study) > cost


def load_after(study, **changes):
    run(study, **changes)
    return load(study)[0]


def test_measure_release__over_budget_nothing_is_drawn(study, monkeypatch):
    monkeypatch.setattr(ReleaseNoise, "_draw", lambda *_: pytest.fail("Noise was drawn."))
    before = study.ledger.path.read_bytes()
    with refused("budget-exceeded"):
        run(study, epsilon=5000.0)
    assert study.ledger.path.read_bytes() == before
    assert not study.metrics.exists()


def test_measure_release__is_refused_before_a_charge(study):
    before = study.ledger.path.read_bytes()

    def refuse():
        raise DpgrsError("file-replaced", "A file was replaced.")

    charged = {"metrics": "charged", "epsilon": EPSILON, "residual_bound": 2.0}
    with pytest.raises(DpgrsError, match="A file was replaced"):
        written_by(study, charged, variant_set="variant_set", sites=study.sites, before_charge=refuse)
    audit = study.root / "audit.json"
    write_json(audit, [{"mechanism": "private_gram", "is_within_claim": True}])
    with refused("audits-incomplete", "private_accuracy"):
        written_by(study, charged, variant_set="variant_set", sites=study.sites, audit=audit)
    assert study.ledger.path.read_bytes() == before


def test_measure_release__separate_budgets_are_one_request_an_outcome(study):
    train(study, outcome_budget="separate")
    cost = spent(study)
    run(study)
    events, stated = load(study)
    assert len({event["request"] for event in events}) == 3
    assert {one["cost"] for one in stated} == {"epsilon 20 at delta 0.000001, for each outcome alone"}
    mu = events[0]["mu"]
    assert spent(study) - cost == pytest.approx(3 * mu**2, rel=1e-9)


def test_load_accuracy__says_what_the_table_says(study):
    table = run(study)
    events, stated = load(study)
    assert [event["statistic"] for event in events] == ["accuracy"]
    assert {event["source"] for event in events} == {"release"}
    for (_, row), one in zip(table.iterrows(), stated, strict=True):
        assert one["name"] == row["outcome"]
        assert f"R^2 {row['r2']:.4f} with noise" in one["value"]
        assert f"mean squared error {row['mse']:.4f} with" in one["value"]
        assert one["cost"] == "epsilon 20 at delta 0.000001, for all outcomes together"


@pytest.mark.parametrize("part", ["sums", "sigma", "mu", "epsilon", "residual_bound", "delta"])
def test_load_accuracy__raise_on_other_numbers_and_terms(study, part):
    """As `load_released` does: a statement claims what they say."""
    run(study)
    ((label, arrays),) = load_labelled(study.accuracy)
    owners = {"sums": arrays, "sigma": label["events"][0], "mu": label["events"][0]}
    owner = owners.get(part, label["request"])
    owner[part] = owner[part] + 1 if part == "sums" else 0.9 * owner[part]
    save_labelled(study.accuracy, [(label, arrays)])
    with refused("accuracy-not-charged"):
        load(study)


def test_load_accuracy__raise_on_incomplete_request(study):
    """As an older version left it, killed before it noted; the next run completes what is paid for."""
    with pytest.MonkeyPatch.context() as killed:
        killed.setattr(step, "complete", lambda *_, **__: None)
        run(study)
    with refused("accuracy-not-charged"):
        load(study)
    cost, table = spent(study), study.metrics.read_bytes()
    run(study)
    assert len(load(study)[0]) == 1
    assert (spent(study), study.metrics.read_bytes()) == (cost, table)


def test_load_accuracy__raise_on_other_weights(study):
    run(study)
    ((released, _),) = load_labelled(study.noisy)
    train(study, outcome_budget="separate")
    ((other, _),) = load_labelled(study.noisy)
    other["requests"][1] = [released["requests"][1][0], "another"]
    for label, penalty in [(released, 0.2), (other, PENALTY)]:
        with refused("accuracy-of-other-weights"):
            load_accuracy(study.accuracy, study.ledger.read(), label, fit=FIT | {"lambda": penalty})


def test_measure_release__weights_that_are_not_of_the_released_statistics_are_not_measured(study):
    before, ((label, fit),) = study.ledger.path.read_bytes(), load_labelled(study.weights)
    others = [(label, fit | {"weights": fit["weights"] + 1.0}), (label | {"seal": "0"}, fit)]
    for items in (others[:1], others[1:], [], [(label, fit)] * 2):
        save_labelled(study.weights, items)
        with refused("weights-not-of-release", "`methods: reusecov-gauss`"):
            run(study)
    save_labelled(study.weights, [(label, fit)])
    ((label, arrays),) = load_labelled(study.noisy)
    save_labelled(study.noisy, [(label, arrays | {"cross": arrays["cross"] + 1.0})])
    with refused("statistics-not-charged"):
        run(study)
    assert study.ledger.path.read_bytes() == before


def measure_in_public(study, names=NAMES):
    set_outcomes(study, names=names, is_training=np.zeros(N_PEOPLE, dtype=bool))
    return written_by(study, {"metrics": "public"}, variant_set="variant_set")


def test_measure_release__in_public_is_that_of_all_public_people_at_no_cost(study):
    before = study.ledger.path.read_bytes()
    table = measure_in_public(study)
    Y, predicted = study.all_outcomes, fit_of(study).predict(study.all_X)
    residual = np.nansum((Y - predicted) ** 2, axis=1)
    np.testing.assert_allclose(table["r2"], 1 - residual / np.nansum(Y**2, axis=1), rtol=1e-10)
    np.testing.assert_allclose(table["mse"], residual / np.isfinite(Y).sum(axis=1), rtol=1e-10)
    assert set(table["status"]) == {"ok"}
    assert study.ledger.path.read_bytes() == before
    events, stated = load(study)
    assert events == []
    assert [one["cost"] for one in stated] == [
        f"none, measured on {n_known} people of the public reference"
        for n_known in (N_PEOPLE, N_PEOPLE, N_PEOPLE - len(range(0, N_PEOPLE, 3)))
    ]
    assert stated[0]["value"].startswith(f"R^2 {table['r2'][0]:.4f}")
    # R^2 follows from the sums and the constant alone.
    sums, fit = load_reference_sums(study.accuracy), published(fit_of(study))
    constants = prediction_constants(fit, n_variants=N_VARIANTS, n_components=0, rows="people").of_person
    n, y, yy, s, ss, sy = sums.T
    rss = yy - 2 * (constants * y + sy) + n * constants**2 + 2 * constants * s + ss
    np.testing.assert_allclose(1 - rss / yy, table["r2"], rtol=1e-9)


@pytest.mark.parametrize("is_link", [False, True])
def test_measure_release__public_raise_on_private_files(study, is_link):
    """Nothing is charged, and the bundle would hold exact sums over people of the cohort."""
    folder = study.root / "results" / "small" / "private"
    folder.mkdir(parents=True)
    private = study.outcomes.rename(folder / "outcomes.zarr")
    if is_link:
        private.parent.with_name("public").mkdir()
        private = private.parent.with_name("public") / "outcomes.zarr"
        private.symlink_to(folder / "outcomes.zarr")
    study.outcomes = private
    with refused("not-a-public-file", "outcomes.zarr"):
        written_by(study, {"metrics": "public"}, variant_set="variant_set")
    assert not study.metrics.exists()


def test_measure_release__public_raise_on_other_outcomes(study):
    with refused("public-outcomes-differ"):
        measure_in_public(study, names=("b", "a", "c"))


def test_measure_release__withheld_terms_alone_and_no_charge(study):
    before = study.ledger.path.read_bytes()
    table = written_by(study, {"metrics": "withheld"})
    assert list(table) == RELEASED_METRICS
    assert set(table["status"]) == {"withheld"}
    assert table[["r2", "mse", "mse_nonprivate"]].isna().all(axis=None)
    ((label, _),) = load_labelled(study.noisy)
    assert set(table["n_rows"]) == {label["n"]}
    assert load(study) == ([], [])
    assert load_reference_sums(study.accuracy) is None
    assert study.ledger.path.read_bytes() == before


def test_ledger__names_the_mechanism_and_what_it_hangs_on(study):
    run(study)
    identity = list(Ledger(study.ledger.path).read().requests.values())[-1].identity
    assert identity["mechanism"] == "accuracy"
    assert identity["part"] == ["accuracy", *NAMES]
    assert identity["residual_bound"] == "2"
    assert identity["outcomes"]["bound"] == "3"
    assert identity["genotypes"]["test_share"] == "0.5"
    assert identity["weights"]["lambda"] == exact_text(PENALTY)
