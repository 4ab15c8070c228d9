"""What a fit reads of the settings is known to steps, seal, identity, statement and refit of a release."""

from types import SimpleNamespace

import pytest
import yaml

from dpgrs.methods.fits import FitTerms
from dpgrs.release import open_release as opening
from dpgrs.steps.fit_weights import READS
from dpgrs.study.identity import READS_OF_FIT, fit_settings
from dpgrs.study.released import load_released, seal
from dpgrs.study.request_identity import fit_identity
from dpgrs.study.requests import READS_OF_METRICS
from dpgrs.study.settings import SCHEMA, resolve


class Noted(dict):
    """Settings that note the names of what is read."""

    def __init__(self):
        self.names = []

    def __getitem__(self, name):
        self.names.append(name)


def keys_of_fits():
    """Return the keys of the section ``regression`` that fits of a release read."""
    noted = Noted()
    FitTerms.of(noted)
    return noted.names


KEYS = keys_of_fits()
# Another value than the default, as the schema has it for readers.
SECTION = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))["properties"]["regression"]["properties"]
OTHER = {key: SECTION[key]["examples"][0] for key in KEYS}


@pytest.mark.parametrize("key", KEYS)
def test_fit_key__is_among_what_steps_read(key):
    lacking = [
        name
        for name, reads in (
            ("fit_weights.READS", READS),
            ("READS_OF_FIT", READS_OF_FIT),
            ("READS_OF_METRICS", READS_OF_METRICS),
        )
        if f"regression.{key}" not in reads
    ]
    assert not lacking


@pytest.fixture
def drawn(study):
    """A release whose fit has another value of every key than the default."""
    study.config = study.settings("reusecov-ellipsoid", accounting="gdp")
    study.config = resolve(study.config | {"regression": OTHER})
    study.config["release"] |= {"audit_draws": 0}
    study.noisy = study.release(study.config)
    return study


def test_fit_keys__are_in_seal_and_identity(drawn):
    label, noisy = load_released(drawn.noisy, drawn.ledger(drawn.config).read())
    for key in KEYS:
        regression = drawn.config["regression"] | {key: SECTION[key]["default"]}
        fits = [fit_settings(config) for config in (drawn.config, drawn.config | {"regression": regression})]
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
