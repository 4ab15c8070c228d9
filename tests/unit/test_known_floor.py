"""A number of known rows that is the smallest one released is told as a floor, not as a count."""

import json

import numpy as np
import pytest
import yaml

from case_studies import DrawnCases, settings_of, with_cases
from dpgrs.errors import DpgrsError
from dpgrs.methods.reusecov import SMALLEST_KNOWN
from dpgrs.release import submission as template
from dpgrs.release.case_counts import case_counts
from dpgrs.release.submission import fill_template
from dpgrs.statement.words import AT_FLOOR, NO_CASES
from dpgrs.verify.accuracy_check import _case_entry_problems
from dpgrs.verify.bundle import verify_release
from forged_releases import seal
from outcome_files import changed_outcomes
from step_studies import N_VARIANTS, NAMES, Study

STATEMENT, ARRAYS = "privacy_statement.json", "statistics/statistics.npz"


@pytest.mark.parametrize(
    ("observed", "noisy", "note"),
    [(90.0, 20, AT_FLOOR), (90.01, 20, None), (90.0, -3, f"{AT_FLOOR} {NO_CASES}")],
)
def test_case_counts__known_rows_at_their_floor_are_told_as_a_floor(observed, noisy, note):
    events = [{"statistic": "case counts", "sigma": 40.0}, {"statistic": "outcome counts", "sigma": 30.0}]
    label, drawn = {"outcomes": ["a"], "events": events}, DrawnCases([noisy], observed=np.array([observed]))
    (one,) = case_counts(label, drawn, is_binary=np.array([True]))
    assert one["known"] == 90
    assert one.get("note") == note
    assert f"below {SMALLEST_KNOWN} standard deviations" in AT_FLOOR


@pytest.mark.parametrize(
    ("n", "known", "problems"),
    [
        (80, 80, []),
        (90, 90, []),
        (200, 95, []),
        (200, 80, [("note", "say that at least 90 known rows are released")]),
        (80, 79, [("note", "say that at least 90 known rows are released")]),
    ],
)
def test_entry_problems__few_rows_may_be_fewer_than_the_floor(n, known, problems):
    """Of 80 rows at most 80 are known: a noisy 90 or more is no floor."""
    mechanisms = [
        {"statistic": name, "outcome": None, "sigma": sigma}
        for name, sigma in {"case counts": "40", "outcome counts": "30"}.items()
    ]
    statement = {
        "mechanisms": mechanisms,
        "public_inputs": [{"name": "number of rows", "value": str(n)}],
        "data_domain": {"missing_outcomes": "counted"},
    }
    one = {"outcome": "a", "known": known, "cases": 20, "controls": known - 20}
    one |= {"known_sd": 30.0, "cases_sd": 40.0, "controls_sd": 50.0}
    assert list(_case_entry_problems(statement, one)) == problems


def test_release__known_rows_at_their_floor_are_told_as_a_floor_everywhere(tmp_path, monkeypatch):
    study = Study(tmp_path, monkeypatch)
    scales = with_cases(study)
    with changed_outcomes(study.root / "outcomes.zarr") as outcomes:
        outcomes.values[N_VARIANTS][2, 3:] = np.nan  # of three people
    config = settings_of(study, scales, epsilon=1)
    study.bundle(config, study.release(config))
    folder = study.root / "bundle"
    with np.load(folder / ARRAYS) as arrays:
        assert arrays["observed"][2] < arrays["observed"][0]
    statement = json.loads((folder / STATEMENT).read_text())
    one, other = statement["case_counts"]
    assert other["known"] == pytest.approx(SMALLEST_KNOWN * other["known_sd"], rel=0.01)
    assert other["note"].startswith(AT_FLOOR)
    assert AT_FLOOR not in one.get("note", "")
    assert AT_FLOOR in " ".join((folder / "privacy_statement.txt").read_text().split())
    notes = [
        yaml.safe_load((folder / f"statistics/{name}.tsv.gz-meta.yaml").read_text())["author_notes"]
        for name in NAMES
    ]
    assert ["is a floor, not a count" in note for note in notes] == [False, False, True]
    rows = fill_template(folder).rows[template.SAMPLES]
    assert [AT_FLOOR in row["additional"] for row in rows][2] is True
    assert AT_FLOOR not in rows[0]["additional"]
    verify_release(folder)
    # Words follow from the statement: a forger writes them anew.
    monkeypatch.setattr("dpgrs.verify.bundle._word_problems", lambda statement, files: [])
    del statement["case_counts"][1]["note"]
    (folder / STATEMENT).write_text(json.dumps(statement))
    seal(folder)
    with pytest.raises(DpgrsError, match="the note of c must be"):
        verify_release(folder)
