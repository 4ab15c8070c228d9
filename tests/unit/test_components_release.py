"""A release of components of outcomes, by its steps: drawn, charged, mapped back, stated and checked."""

from dataclasses import replace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.io.files import file_digest, save_arrays
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Statistics, load_labelled
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.linalg.coding import OUTCOME_STEP
from dpgrs.linalg.components import components_of, mapped_loadings
from dpgrs.linalg.norms import outcome_norm
from dpgrs.linalg.outcome_grid import clipped_outcomes
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.mechanisms import mechanism_of, mechanism_of_file, request_of
from dpgrs.planning.plan import plan_study
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.release.open_release import refits
from dpgrs.study.draws import draws_of
from dpgrs.study.settings_files import read_settings
from dpgrs.study.training_data import TrainingData
from dpgrs.verify.bundle import verify_release
from forged_releases import edit, edit_statement, finding_of, seal
from outcome_files import write_outcomes
from refused import refused
from step_settings import settings_for
from step_studies import N_VARIANTS, NAMES, Study

TABLE = "outcome\torigin\tfirst\tsecond\nc\ta survey, table 2\t0.2\t0.6\na\t\t0.8\t0.1\nb\t\t-0.7\t0.3\n"
FILE, ARRAYS = "outcome_loadings.tsv", "statistics/statistics.npz"
PRIVACY = {"bounds": "tight", "accounting": "gdp"}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study of three outcomes, by public loadings on two components."""
    (tmp_path / "private").mkdir(mode=0o700)
    study = Study(tmp_path / "private", monkeypatch)
    name_loadings(study, TABLE)
    study.config = study.settings("reusecov-gauss", **PRIVACY)
    study.config = study.config.changed(outcomes={"loadings": str(study.loadings)})
    return study


def name_loadings(study, text):
    """Lay a table of loadings into the folder, and what the step that makes outcomes takes of it."""
    study.loadings, path = study.root / "loadings.tsv", study.root / "outcomes.zarr"
    study.loadings.write_text(text)
    found, outcomes = read_outcome_loadings(study.loadings), Outcomes.load(path).of_rows(slice(None))
    own = {"effects": {}, "components": found.components, "loadings": found.of(NAMES)}
    write_outcomes(path, replace(outcomes, **own))


def requests(study):
    return Ledger(study.ledger(study.config).path).read().requests


def test_compute_statistics__sums_components_within_their_own_norm(study):
    statistics = Statistics.load(study.sum_up(study.config))
    ((place, part),) = statistics.clipped.items()
    assert place == (N_VARIANTS, 2)
    assert part.outcome_norm == outcome_norm(2, factor=1.05, bound=3.0)
    outcomes = Outcomes.load(study.root / "outcomes.zarr")
    Z = components_of(outcomes.values[N_VARIANTS], outcomes.loadings, bound=3.0)
    units = clipped_outcomes(Z, bound=3.0, norm=part.outcome_norm, n_shared=2)
    # The intercept's column is the sum of rows, of 1/2 each.
    np.testing.assert_array_equal(part.cross[:, -1], units.sum(axis=1) * 2**11)
    assert np.linalg.norm(units * OUTCOME_STEP, axis=0).max() <= part.outcome_norm


def test_compute_statistics__raise_on_other_bounds(study):
    study.config = study.config.changed(privacy={"bounds": "worst-case"})
    with refused("bounds-not-tight", error=UsageError):
        study.sum_up(study.config)


FITTED = ["reusecov-gauss", "reusecov-ellipsoid", "blup", "blup-shared", "blup-steered"]


@pytest.mark.parametrize("method", FITTED)
def test_release__draws_components_and_maps_weights_back(study, method):
    study.config = study.config.changed(methods=[method])
    noisy = study.release(study.config)
    ((label, arrays),) = load_labelled(noisy)
    assert (label["n_outcomes"], label["outcomes"]) == (3, list(NAMES))
    assert label["components"] == ["first", "second"]
    assert arrays["cross"].shape == (2, N_VARIANTS)
    assert label["request"]["n_outcomes"] == 2
    ((own, weights),) = load_labelled(study.fit(study.config, noisy))
    assert own["n_outcomes"] == 3
    L = mapped_loadings(read_outcome_loadings(study.loadings).of(NAMES))
    np.testing.assert_array_equal(arrays.pop("loadings"), L)
    mechanism = mechanism_of_file(label)
    known = {"request": request_of(label), "terms": FitTerms.of(study.config.regression.as_dict())}
    fit = fit_released(method, mechanism.restore(label, arrays), **known)
    np.testing.assert_allclose(weights["weights"], L @ fit.weights)
    np.testing.assert_array_equal(weights["means"], fit.means)


@pytest.mark.parametrize("method", ["blup-steered", "blup-ld"])
def test_exact__steered_rows_are_of_components_within_their_own_norm(study, method):
    study.config = study.config.changed(methods=[method])
    mechanism, statistics = mechanism_of(method), study.sum_up(study.config)
    files = {"statistics": statistics, "variant_set": "variant_set", "ld": study.root / "ld.npz"}
    data = TrainingData(study.root / "outcomes.zarr", **files)
    (one,) = draws_of(settings_for("draw", study.config), mechanism, [None], data)
    exact = mechanism.exact(one.request, data=data, names=one.names, settings=one.settings)
    assert (one.names, one.request.n_outcomes) == (("first", "second"), 2)
    outcomes = data.outcomes
    Z = components_of(outcomes.values[N_VARIANTS], outcomes.loadings, bound=3.0)
    norm = outcome_norm(2, factor=1.05, bound=3.0)
    wanted = clipped_outcomes(Z, bound=3.0, norm=norm, n_shared=2)
    np.testing.assert_array_equal(exact["rows"].Y, wanted)
    assert one.request.outcome_norm == norm
    np.testing.assert_array_equal(exact["loadings"], mapped_loadings(outcomes.loadings))


def test_benchmark__of_label_protection_maps_projected_components_back(study):
    names = ["reusecov-proj", "blup"]
    config = study.config.changed(mode="benchmark", methods=names)
    config = config.changed(privacy={"protection": ["label"]})
    fits = load_labelled(study.fit(config, study.release(config)))
    assert [label["method"] for label, _ in fits] == names
    basis = read_outcome_loadings(study.loadings).of(NAMES)
    for label, arrays in fits:
        assert (label["n_outcomes"], arrays["weights"].shape) == (3, (3, N_VARIANTS))
        effects = np.linalg.lstsq(basis, arrays["weights"], rcond=None)[0]
        np.testing.assert_allclose(basis @ effects, arrays["weights"], atol=1e-10)


def test_release__says_of_what_it_is(study):
    files = study.bundle(study.config, study.release(study.config))
    statement, found = study.statement(), read_outcome_loadings(study.loadings)
    (stated,) = [one for one in statement["public_inputs"] if "loadings" in one["name"]]
    assert (stated["value"], stated["origin"]) == (found.digest, f"a survey, table 2, {FILE}")
    assert any("components of the outcomes, first, second;" in one for one in statement["post_processing"])
    assert statement["data_domain"]["outcomes"] == list(NAMES)
    assert {str(path): text for path, text in files.items()}[FILE].decode() == found.text
    identities = [one.identity for one in requests(study).values()]
    (own,) = [one["outcomes"] for one in identities if "outcomes" in one]
    assert (own["loadings"], own["names"]) == (found.digest, ["first", "second"])
    # X'Y of components says nothing of single variants and outcomes, and scores of outcomes follow from it.
    assert [str(path) for path in files if path.parts[0] == "statistics" and path.suffix] == [ARRAYS]
    assert refits(study.root / "bundle")


def test_refits__finds_other_products_of_components(study):
    study.bundle(study.config, study.release(study.config))
    folder = study.root / "bundle"
    with np.load(folder / ARRAYS) as arrays:
        changed = dict(arrays) | {"cross": arrays["cross"] * 2}
    save_arrays(folder / ARRAYS, changed)
    seal(folder)
    verify_release(folder)  # takes the fits
    with refused("weights-differ"):
        refits(folder)


def test_release__of_other_loadings_is_another_request(study):
    for text, n_requests in ((TABLE, 2), (TABLE.replace("0.6", "0.5"), 3), (TABLE, 3)):
        name_loadings(study, text)
        study.release(study.config)
        assert len(requests(study)) == n_requests


def test_write_release__raise_on_other_loadings_than_were_drawn_by(study):
    noisy = study.release(study.config)
    study.loadings.write_text(TABLE.replace("0.6", "0.5"))
    with refused("outcome-terms-differ", "`outcomes.loadings`"):
        study.bundle(study.config, noisy)
    study.config = study.config.changed(outcomes={"loadings": None})
    with refused("outcome-terms-differ", "`outcomes.loadings`"):
        study.bundle(study.config, noisy)


def test_write_release__raise_on_other_scales_than_were_drawn_by(study):
    """Else the statement and `outcome_scales.tsv` would name constants that were not used."""
    path = study.root / "scales.tsv"
    text = "outcome\tcentre\tscale\torigin\n" + "".join(f"{name}\t0\t1\ta survey\n" for name in NAMES)
    path.write_text(text)
    study.config = study.config.changed(outcomes={"scales": str(path)})
    noisy = study.release(study.config)
    path.write_text(text.replace("\t1\t", "\t2\t"))
    with refused("outcome-terms-differ", "`outcomes.scales`"):
        study.bundle(study.config, noisy)


def test_verify_release__finds_loadings_that_do_not_fit(study):
    study.bundle(study.config, study.release(study.config))
    folder, known = study.root / "bundle", (study.root / "bundle" / FILE).read_text()

    def finding(text, *, is_stated=True):
        (folder / FILE).write_text(text)
        if is_stated:
            (place,) = [
                place
                for place, one in enumerate(study.statement()["public_inputs"])
                if "loadings" in one["name"]
            ]
            digest = file_digest(folder / FILE)
            if study.statement()["public_inputs"][place]["value"] != digest:
                edit_statement(folder, ["public_inputs", place, "value"], digest)
        return finding_of(folder)

    assert "must be sums of weights of components" in finding(known.replace("0.6", "0.5"))
    # Of another scale weights would still be sums of them.
    header, *lines = [line.split("\t") for line in known.splitlines()]
    for scale in (2.0, 1e300):
        scaled = [header, *([name, *(repr(float(one) * scale) for one in own)] for name, *own in lines)]
        text = "".join("\t".join(line) + "\n" for line in scaled)
        assert "squares add up to at most 1" in finding(text)
    assert "a line of numbers for each outcome and no other" in finding(known.replace("0.6", "high"))
    assert "a line of numbers for each outcome and no other" in finding(known + "d\t0.1\t0.1\n")
    assert "a line of numbers for each outcome and no other" in finding("")
    assert "with the digest in the public inputs" in finding(known, is_stated=False)
    (folder / FILE).unlink()
    assert "with the digest in the public inputs" in finding_of(folder)


def test_verify_release__finds_weights_that_are_of_no_component(study):
    study.bundle(study.config, study.release(study.config))
    folder = study.root / "bundle"
    verify_release(folder)
    edit(folder / "scores" / "a.txt.gz", r"(\t-?\d+\.\d)\d(\d+\t)", r"\g<1>3\2")
    assert "must be sums of weights of components" in finding_of(folder)


def test_verify_release__finds_components_whose_loadings_are_left_out_or_too_many(study):
    study.config = study.config.changed(release={"statistics": False})  # whose files are others
    study.bundle(study.config, study.release(study.config))
    folder, inputs = study.root / "bundle", study.statement()["public_inputs"]
    # With as many components as outcomes any weights are sums of theirs.
    (folder / FILE).write_text("outcome\tx\ty\tz\na\t1\t0\t0\nb\t0\t1\t0\nc\t0\t0\t1\n")
    (place,) = [place for place, one in enumerate(inputs) if "loadings" in one["name"]]
    edit_statement(folder, ["public_inputs", place, "value"], file_digest(folder / FILE))
    assert "must be 12 numbers, of 3 components, got 8" in finding_of(folder)
    (folder / FILE).unlink()
    edit_statement(folder, ["public_inputs"], inputs[:place] + inputs[place + 1 :])
    assert "must be 12 numbers, of 3 outcomes, got 8" in finding_of(folder)


def test_plan_study__counts_components(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"simulated_{number:04d}\tx\t0.5\t0.{number}\n" for number in range(1, 9)]
    (tmp_path / "l.tsv").write_text("outcome\torigin\tf\tg\n" + "".join(lines))
    (tmp_path / "study.yaml").write_text("study: tiny\n")
    privacy = "privacy={epsilon: 2, accounting: gdp, bounds: tight}"
    changes = ["mode=release", "cohort={rows: people}", "variants={size: 8}", privacy]
    plans = [
        plan_study(
            read_settings("study.yaml", changes=[*changes, f"outcomes={{count: {terms}}}"]), people=500
        )
        for terms in ("8, loadings: l.tsv", "2", "8")
    ]
    assert plans[0]["problems"] == plans[1]["problems"]
    assert plans[0]["assumptions"]["outcomes"] == "2 components of 8, by the loadings of l.tsv"
    assert "outcomes" not in plans[1]["assumptions"]
    (own,), (two,), (eight,) = (plan["requests"] for plan in plans)
    assert own == two != eight
