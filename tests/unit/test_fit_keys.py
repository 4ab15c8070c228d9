"""What a fit reads of the settings is known to steps, seal, identity, statement and refit of a release."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpgrs import fit_keys
from dpgrs.config.schema import load_schema
from dpgrs.fit_keys import FIT_KEYS, FitKey, regression_keys, regression_of, stated
from dpgrs.methods.fits import FitTerms
from dpgrs.release import open_release as opening
from dpgrs.study.fit_identity import fit_identity, fit_settings, seal
from dpgrs.study.released import load_released
from study_runs import REPOSITORY

KEYS = [*regression_keys()]
# Another value than the default, as the schema has it for readers.
SECTION = load_schema()["properties"]["regression"]["properties"]
OTHER = {key: SECTION[key]["examples"][0] for key in KEYS}


def test_fit_keys__a_made_up_one_is_known_wherever_one_must_be(tmp_path):
    """It is added to two files, by a process that has imported nothing before."""
    root = tmp_path / "private"
    root.mkdir(mode=0o700)
    command = [sys.executable, REPOSITORY / "tests" / "made_up_key.py", root]
    paths = [str(REPOSITORY / name) for name in ("workflow", "tests")]
    found = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)}, capture_output=True, check=True
    )
    assert json.loads(found.stdout) == {
        "steps": [True, True],
        "fit": [{"made_up": 0.25}],
        "number of seals": 2,
        "identities": ["0.25", None],
        "statement": 0.25,
        "inputs": ["0.25"],
        "verify": True,
        "refit": [{"made_up": 0.25}],
    }


@pytest.mark.parametrize(("name", "value"), [("same_ancestry", True), ("made_up", 0.25)])
def test_regression_of__takes_what_a_statement_lacks_as_absent(name, value, monkeypatch):
    monkeypatch.setitem(FIT_KEYS, "made_up", FitKey({"type": "number"}, joining=(), absent=(0.5,)))
    fit = {key: section["default"] for key, section in SECTION.items() if key in KEYS}
    assert regression_of(fit) == fit | {"made_up": 0.5}
    assert regression_of(fit | {name: value}).get("made_up") == (value if name == "made_up" else 0.5)
    assert stated(fit | {"made_up": 0.5, "same_ancestry": False}) == fit
    assert stated(fit | {name: value}) == fit | {name: value}


def test_fit_keys__import_nothing_but_types():
    tree = ast.parse(Path(fit_keys.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {ast.unparse(node).split()[1] for node in imports} == {"collections.abc", "typing"}


@pytest.fixture
def drawn(study):
    """A release whose fit has another value of every key than the default."""
    study.config = study.settings("reusecov-ellipsoid", accounting="gdp")
    study.config = study.config.changed(regression=OTHER)
    study.config = study.config.changed(release={"audit_draws": 0})
    study.noisy = study.release(study.config)
    return study


def test_fit_keys__are_in_seal_and_identity(drawn):
    label, noisy = load_released(drawn.noisy, drawn.ledger(drawn.config).read())
    for key in KEYS:
        default = drawn.config.changed(regression={key: SECTION[key]["default"]})
        fits = [fit_settings(config) for config in (drawn.config, default)]
        lacking = [
            name
            for name, (one, other) in {
                "seal": [seal(label, noisy, fit, {}) for fit in fits],
                "identity": [fit_identity(fit) for fit in fits],
            }.items()
            if one == other
        ]
        assert (key, lacking) == (key, [])


def test_fit_keys__are_in_statement_and_refit(drawn, monkeypatch):
    drawn.bundle(drawn.config, drawn.noisy)
    stated, refitted = drawn.statement()["fit"], []
    assert {key: stated.get(key) for key in KEYS} == OTHER

    def noting(regression, **public):
        refitted.append(regression)
        return FitTerms.of(regression, **public)

    monkeypatch.setattr(opening, "FitTerms", SimpleNamespace(of=noting))
    assert opening.refits(drawn.root / "bundle")
    assert refitted == [OTHER]
    default = {key: SECTION[key]["default"] for key in KEYS}
    opening.open_release(drawn.root / "bundle").fit(**{f"{key}_": value for key, value in default.items()})
    assert refitted[-1] == default
