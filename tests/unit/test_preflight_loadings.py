"""What a study must have for components of outcomes, before any job runs."""

import pytest

from dpgrs.preflight import loadings
from dpgrs.study.settings import resolve
from found_by import found_by

TABLE = "outcome\torigin\tf\nsimulated_0001\tx\t0.5\nsimulated_0002\tx\t0.5\n"
STUDY = {"methods": ["ridge", "ols", "blup", "blup-ld"], "privacy": {"bounds": "tight"}}


@pytest.fixture
def found(tmp_path, monkeypatch):
    """List the lines about a study with loadings of two outcomes; sections are laid over it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "l.tsv").write_text(TABLE)
    (tmp_path / "y.tsv").write_text("sample\tsimulated_0001\tsimulated_0002\tmore\nx\t1\t1\t1\n")

    def found(*, outcomes=None, **changes):
        named = {"count": 2, "loadings": "l.tsv"} | (outcomes or {})
        study = STUDY | changes | {"outcomes": named}
        study["privacy"] = {"protection": "full"} | study["privacy"]
        return found_by(loadings, resolve(study))

    return found


TIGHT = {"bounds": "tight"}


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, None),
        ({"outcomes": {"loadings": None}, "methods": ["bas"], "privacy": {}}, None),
        ({"outcomes": {"source": "file", "file": "y.tsv"}}, None),
        ({"privacy": {}}, "`privacy.bounds` must be tight"),
        ({"privacy": TIGHT | {"outcome_budget": "separate"}}, "`privacy.outcome_budget` must be joint"),
        ({"privacy": TIGHT | {"protection": ["full", "feature"]}}, "`privacy.protection` must be without"),
        ({"outcomes": {"missing": "counted"}}, "`outcomes.missing` must be none"),
        ({"mode": "release", "evaluation": {"metrics": "charged"}}, "`evaluation.metrics` must not be charg"),
        *(
            ({"methods": ["ridge", name]}, f"`methods` must be among ols, ridge, .*, got {name}")
            for name in ("naive", "adassp", "dp-sgd", "bas", "k-blup", "k-ols", "s-blup", "tukey")
        ),
        ({"outcomes": {"loadings": "none.tsv"}}, "`outcomes.loadings`: `none.tsv` must be a table"),
        ({"outcomes": {"count": 3}}, "got `simulated_0003` in the study alone"),
        ({"outcomes": {"source": "file", "file": "y.tsv", "count": None}}, "`more` in the study alone"),
        # Another check says that it is not there.
        ({"outcomes": {"source": "file", "file": "z.tsv"}}, None),
    ],
)
def test_problems(found, changes, wanted):
    lines = found(**changes)
    assert len(lines) == (wanted is not None)
    if wanted:
        import re

        assert re.search(wanted, lines[0])


def test_problems__of_components_that_cannot_be_told_apart(found, tmp_path):
    alike = "outcome\torigin\tf\tg\nsimulated_0001\tx\t0.5\t0.5\nsimulated_0002\tx\t0.5\t0.500000001\n"
    (tmp_path / "l.tsv").write_text(alike)
    (line,) = found()
    assert line.startswith("`outcomes.loadings`: The map between outcomes and components must have entries")


def test_problems__of_several_numbers_of_outcomes(found):
    assert any("`outcomes.count` must be one number" in line for line in found(outcomes={"count": [1, 2]}))


def test_resolve__components_are_never_missing():
    for named, missing in (({}, "counted"), ({"loadings": "l.tsv"}, "none")):
        outcomes = {"source": "file", "file": "y.tsv"} | named
        assert resolve({"outcomes": outcomes}).outcomes.missing == missing
