"""Noisy numbers of cases and controls: drawn, charged, stated, checked, shown; nothing unless asked for."""

import json
import re
import shutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import yaml

from case_studies import EXACT, DrawnCases, settings_of, with_cases
from dpgrs.errors import UsageError
from dpgrs.io.files import save_arrays
from dpgrs.io.outcomes import CHUNK, Outcomes
from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.registry import METHODS
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import private_case_counts, private_statistics
from dpgrs.preflight.checks import problems
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.release import submission as template
from dpgrs.release.case_counts import case_counts
from dpgrs.release.submission import fill_template
from dpgrs.statement.words import ALL_CASES, NO_CASES
from dpgrs.study.released import load_released
from dpgrs.study.settings import resolve
from dpgrs.study.training_data import TrainingData
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.draw_check import has_statistics
from forged_releases import edit_statement, finding_of
from html_pages import text_of
from refused import refused
from release_report_data import make_data, write_pages
from step_studies import NAMES, RAW, HaplotypeStudy, Study

STATEMENT, ARRAYS = "privacy_statement.json", "statistics/statistics.npz"


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A study with a bundle of cases and controls: not to be changed."""
    with pytest.MonkeyPatch.context() as patch:
        study = Study(tmp_path_factory.mktemp("counted"), patch)
        config = settings_of(study, with_cases(study))
        study.bundle(config, study.release(config))
    return study


@pytest.fixture
def forged(counted, tmp_path):
    return shutil.copytree(counted.root / "bundle", tmp_path / "forged")


def test_release__states_cases_with_their_noise(counted):
    statement, ((label, drawn),) = counted.statement(), load_labelled(counted.root / "noisy.npz")
    (event,) = [one for one in statement["mechanisms"] if one["statistic"] == "case counts"]
    assert (event["entries"], event["proof"], float(event["sensitivity"]) ** 2) == (
        3,
        "docs/proofs/count.md",
        pytest.approx(3),
    )
    (other,) = [one for one in statement["mechanisms"] if one["statistic"] == "cross product"]
    assert 3 * float(event["share"]) == pytest.approx(float(other["share"]), rel=1e-3)
    with np.load(counted.root / "bundle" / ARRAYS) as arrays:
        assert arrays["cases"][1] == 0  # of no 0/1 outcome
        assert arrays["cases"][[0, 2]].tolist() == drawn["cases"][[0, 2]].tolist()
    assert [one["outcome"] for one in statement["case_counts"]] == ["a", "c"]
    for one, place in zip(statement["case_counts"], (0, 2), strict=True):
        assert abs(one["cases"] - EXACT[one["outcome"]]) < 6.5 * float(event["sigma"])
        assert one["cases"] == round(drawn["cases"][place])
        assert one["known"] == round(min(drawn["observed"][place], label["n"]))
        assert one["controls"] == one["known"] - one["cases"]
        assert one["cases_sd"] == pytest.approx(float(event["sigma"]), rel=5e-3)
        assert one["controls_sd"] == pytest.approx(np.hypot(one["cases_sd"], one["known_sd"]), rel=1e-2)
    told = (counted.root / "bundle" / "privacy_statement.txt").read_text()
    (one, _) = statement["case_counts"]
    assert f"a: about {one['cases']} cases and {one['controls']} controls" in " ".join(told.split())
    meta = yaml.safe_load((counted.root / "bundle/statistics/a.tsv.gz-meta.yaml").read_text())
    (sample,) = meta["samples"]
    assert sample.pop("sample_size") > 0
    assert sample == {
        "case_control_study": True,
        "case_count": one["cases"],
        "control_count": one["controls"],
    }
    other = yaml.safe_load((counted.root / "bundle/statistics/b.tsv.gz-meta.yaml").read_text())
    assert list(other["samples"][0]) == ["sample_size"]


@pytest.mark.parametrize(
    ("kind", "method", "terms"),
    [
        (Study, "adassp", {"bounds": "worst-case"}),
        (HaplotypeStudy, "reusecov-gauss", {"outcome_budget": "separate", "missing": "none"}),
        (Study, "blup-shared", {"neighbours": "replace-one", "missing": "none"}),
    ],
)
def test_release__cases_are_charged_stated_and_replayed(tmp_path, monkeypatch, kind, method, terms):
    study = kind(tmp_path, monkeypatch)
    config = settings_of(study, with_cases(study), method, **terms)
    noisy = study.release(config)
    first, files, statement = noisy.read_bytes(), study.bundle(config, noisy), study.statement()
    owners = [one["outcome"] for one in statement["mechanisms"] if one["statistic"] == "case counts"]
    assert owners == (list(NAMES) if "outcome_budget" in terms else [None])
    one = statement["case_counts"][0]
    assert (one["known_sd"] == 0) == ("neighbours" in terms)
    rows_of_person = 2 if kind is HaplotypeStudy else 1
    assert abs(one["cases"] - rows_of_person * EXACT["a"]) < 6.5 * one["cases_sd"]
    (row, *_) = fill_template(study.root / "bundle").rows[template.SAMPLES]
    n_cases, n_known = (round(one[name] / rows_of_person) for name in ("cases", "known"))
    told = tuple(row[f"n_{kind}"] for kind in ("people", "cases", "controls"))
    assert told == (n_known, n_cases, n_known - n_cases)
    before = study.ledger(config).path.read_bytes()
    noisy.unlink()
    assert study.release(config).read_bytes() == first
    assert study.bundle(config, noisy) == files
    assert study.ledger(config).path.read_bytes() == before
    ((label, arrays),) = load_labelled(noisy)
    save_labelled(study.root / "forged.npz", [(label, arrays | {"cases": arrays["cases"] + 1})])
    with refused("statistics-not-charged"):
        load_released(study.root / "forged.npz", study.ledger(config).read())


def change(**changes):
    """Forge numbers of the first outcome in the statement alone."""

    def forge(folder):
        first, *others = statement_of(folder)["case_counts"]
        edit_statement(folder, ("case_counts",), [first | changes, *others])

    return forge


def move_a_control(folder):
    (first, _) = statement_of(folder)["case_counts"]
    change(cases=first["cases"] + 1, controls=first["controls"] - 1)(folder)


def statement_of(folder):
    return json.loads((folder / STATEMENT).read_text())


def set_array(place, value):
    def forge(folder):
        with np.load(folder / ARRAYS) as loaded:
            arrays = dict(sorted(loaded.items()))
        arrays["cases"][place] = value
        save_arrays(folder / ARRAYS, arrays)

    return forge


def leave_out(folder):
    edit_statement(folder, ("case_counts",), statement_of(folder)["case_counts"][:1])


def drop(folder):
    content = statement_of(folder)
    del content["case_counts"]
    (folder / STATEMENT).write_text(json.dumps(content))


def lower_sensitivity(folder):
    statistics = [one["statistic"] for one in statement_of(folder)["mechanisms"]]
    edit_statement(folder, ("mechanisms", statistics.index("case counts"), "sensitivity"), "1")


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (move_a_control, "cases of a must follow from"),
        (change(cases=3), "cases and controls of a must add up|must follow from"),
        (change(controls=3), "cases and controls of a must add up"),
        (change(cases_sd=1.0), "the noise of the cases of a must be"),
        (change(controls_sd=1.0), "the noise of the controls of a must be"),
        (change(known_sd=1.0), "the noise of the known of a must be"),
        (change(known=100000), "the known rows of a must be at most"),
        (change(note=ALL_CASES), "the note of a must be"),
        (change(note="all is well"), "the note of a must be"),
        (set_array(0, 7.0), "cases of a must follow from"),
        (set_array(1, 7.0), "cases must be 0 for b, which is not 0/1"),
        (set_array(0, 7.0001), "cases must be on the grid"),
        (leave_out, "an entry for each 0/1 outcome"),
        (drop, "no draws but those of blup"),
        (lower_sensitivity, "mu|sensitivity of case counts"),
    ],
)
def test_verify__forged_counts_are_refused(forged, forge, said, monkeypatch):
    # Words follow from the statement: a forger writes them anew.
    monkeypatch.setattr("dpgrs.verify.bundle._word_problems", lambda statement, files: [])
    monkeypatch.setattr("dpgrs.verify.statistics_check._file_problems", lambda *given: [])
    forge(forged)
    assert re.search(said, finding_of(forged))


def test_verify__words_and_metadata_are_those_of_the_counts(forged):
    move_a_control(forged)
    assert "privacy_statement.txt must be what" in finding_of(forged)


def test_verify__counts_of_a_bundle_without_statistics_are_held_to_each_other(tmp_path, monkeypatch):
    study = Study(tmp_path, monkeypatch)
    config = settings_of(study, with_cases(study))
    config = config.changed(release={"statistics": False})
    study.bundle(config, study.release(config))
    folder = study.root / "bundle"
    assert verify_release(folder)["n_scores"] == 3
    assert not (folder / ARRAYS).exists()
    monkeypatch.setattr("dpgrs.verify.bundle._word_problems", lambda statement, files: [])
    change(controls=3)(folder)
    assert "cases and controls of a must add up" in finding_of(folder)


@pytest.mark.parametrize(
    ("noisy", "cases", "note"),
    [
        *((-0.2, 0, NO_CASES), (0, 0, None), (0.4, 0, None)),
        *((40.4, 40, None), (100, 100, None), (100.5, 100, ALL_CASES)),
    ],
)
def test_case_counts__what_cannot_be_is_set_to_an_end_with_a_note(noisy, cases, note):
    events = [{"statistic": "case counts", "sigma": 40.04}, {"statistic": "count", "sigma": 30.04}]
    label = {"outcomes": ["a", "b"], "events": events}
    (found,) = case_counts(label, DrawnCases([noisy, 3.0]), is_binary=np.array([True, False]))
    numbers = {"known": 100, "cases": cases, "controls": 100 - cases}
    numbers |= {"known_sd": 30, "cases_sd": 40, "controls_sd": 50.1}
    assert found == {"outcome": "a"} | numbers | ({} if note is None else {"note": note})


def request(**changes):
    terms = {"rows": "people", "n_variants": 2, "n_outcomes": 3, "outcome_bound": 3.0}
    return PrivacyRequest(**terms | {"epsilon": 1.0, "delta": 1e-6} | changes)


def test_request__counts_nothing_and_is_as_it_was_unless_asked():
    assert not request().counts_cases
    assert "case_share" not in request().key
    assert len(request().key) == len(request(case_share=0.1).key) - 1
    exact = np.zeros((3, 3), dtype=np.int64), np.zeros((3, 3), dtype=np.int64), 10
    without, with_it = (
        private_statistics(*exact, request=request(**own), noise=BenchmarkNoise(1), cases=np.arange(3))
        for own in ({}, {"case_share": 0.1})
    )
    assert without.cases is None
    assert [event.statistic for event in without.events] == ["count", "gram", "cross product"]
    assert [event.statistic for event in with_it.events][-1] == "case counts"
    cases, own = np.array([0, 1000, 500]), request(case_share=0.1, n_outcomes=1, epsilon=1000.0)
    noisy = private_statistics(*exact, request=own, noise=BenchmarkNoise(1), cases=cases)
    assert np.abs(noisy.cases - cases).max() < 7 * own.noise_sd["cases"] < 50  # each has a budget of its own
    with refused("counts-shape", "`cases`", error=UsageError):
        private_statistics(*exact, request=request(case_share=0.1), noise=BenchmarkNoise(1))


def test_cases__are_of_training_rows_and_of_0_1_outcomes(tmp_path):
    """More rows than are read at a time, on disk."""
    rng, n_rows = np.random.default_rng(3), 2 * CHUNK[1] + 5
    is_training, values = rng.random(n_rows) < 0.7, rng.choice([-0.5, 2.0, np.nan], (3, n_rows))
    own = {"is_training": is_training, "rows": "people", "prevalence": np.array([0.2, np.nan, 0.2])}
    Outcomes(NAMES, {2: values}, {}, **own).save(tmp_path / "outcomes.zarr")
    wanted = [np.count_nonzero(values[place, is_training] == 2) for place in (0, 2)]
    data = TrainingData(tmp_path / "outcomes.zarr")
    assert data.cases(request(), 3).tolist() == [wanted[0], 0, wanted[1]]
    assert data.cases(request(), 1).tolist() == wanted[:1]


@pytest.mark.parametrize(
    ("terms", "fault"),
    [
        ({"case_share": 0.0}, "share-out-of-range"),
        ({"case_share": 1.0}, "share-out-of-range"),
        (
            {"case_share": 0.1, "protection": "feature", "neighbours": "replace-one"},
            "case-share-under-feature-protection",
        ),
    ],
)
def test_request__raise_on_share_of_cases(terms, fault):
    with refused(fault, "`privacy.case_share`", error=UsageError):
        request(**terms)


@pytest.mark.parametrize("accounting", ["gdp", "paper"])
@pytest.mark.parametrize("share", [0.02, 0.25, 0.7])
def test_request__x_x_is_the_same_draw_with_cases_and_without(accounting, share):
    """To the last bit: the ledger knows it by its mu."""
    for n_outcomes in range(1, 30):
        own = {"accounting": accounting, "n_outcomes": n_outcomes}
        without, with_it = request(**own).budget, request(**own, case_share=share).budget
        assert [with_it[name] for name in ("count", "gram")] == [without[name] for name in ("count", "gram")]
        assert (
            Fraction(with_it["cross"]) ** 2 + Fraction(with_it["cases"]) ** 2
            <= Fraction(without["cross"]) ** 2
        )


def test_request__cases_are_paid_for_by_the_products_of_outcomes():
    without, with_it = request(), request(case_share=0.25)
    own = without.budget["cross"] ** 2 * np.array([0.75, 0.25])
    assert [with_it.budget[name] ** 2 for name in ("cross", "cases")] == pytest.approx(own)


def test_private_case_counts__are_the_cases_and_noise_of_the_sd_told():
    asked, cases = request(case_share=0.3, n_outcomes=3000), np.arange(3000)
    noisy, event = private_case_counts(cases, request=asked, noise=BenchmarkNoise(4))
    assert event.sigma == pytest.approx(asked.noise_sd["cases"])
    assert np.std(noisy - cases) == pytest.approx(event.sigma, rel=0.1)
    assert abs(np.mean(noisy - cases)) < 7 * event.sigma / np.sqrt(3000)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"methods": ["naive"]}, "be null for `methods: naive`, whose bundle has no statistics"),
        ({"methods": ["k-blup"]}, "be null for `methods: k-blup`"),
        ({"outcomes": {"count": 3}}, "be null without 0/1 outcomes"),
        ({"privacy": {"protection": "feature", "neighbours": "replace-one"}}, "be null under feature"),
        ({"mode": "benchmark"}, "is for `mode: release`, got 0.1 in a benchmark"),
    ],
)
def test_check__cases_are_counted_where_that_means_something(changes, words):
    raw = RAW | {"methods": ["blup"], "outcomes": {"count": 3, "prevalence": 0.1}}
    privacy = {"epsilon": 1, "case_share": 0.1} | changes.get("privacy", {})
    lines = [line for line in problems(resolve(raw | changes | {"privacy": privacy})) if "case_share" in line]
    assert any(words in line for line in lines) if words else not lines


def test_methods__those_with_statistics_draw_cases():
    for name, row in METHODS.items():
        if row.may_be_released:
            drawn = "cases" in mechanism_of(name).draws["outcomes"]
            assert drawn == has_statistics(name, "full"), name


def test_report__says_that_cases_are_noisy_and_nothing_where_none_were_counted(counted, tmp_path):
    statement = counted.statement()
    one, scales = statement["case_counts"][0], pd.DataFrame({"is_binary": [True, False, True]}, index=NAMES)
    scales = scales.assign(centre=0.5, scale=0.5)
    for name in ("with", "without"):
        write_pages(replace(make_data(statement), scales=scales), tmp_path / name)
        statement.pop("case_counts", None)
    overview, binary, other = (
        text_of(tmp_path / "with" / page)
        for page in ("index.html", *(f"outcomes/01/outcome_000{number}.html" for number in (1, 2)))
    )
    assert "each outcome’s page has the number with noise" in overview
    assert f"Cases (noisy){one['cases']:,} ± {one['cases_sd']:g}" in binary.replace(" (noisy) ", " (noisy)")
    assert "people on which it is known (that number has noise" in binary
    assert "(noisy)" not in other
    for page in ("index.html", "outcomes/01/outcome_0001.html"):
        assert "(noisy)" not in text_of(tmp_path / "without" / page)
    assert "How many of them are cases is not stated" in text_of(tmp_path / "without" / "index.html")
