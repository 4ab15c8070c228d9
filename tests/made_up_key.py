"""Release with a made-up key of a fit, and print where it is found, as JSON: `python made_up_key.py FOLDER`.

The key is in the two files that a key is added to, the list of keys and the class of its section.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpgrs.config import privacy
from dpgrs.config.setting import setting
from dpgrs.errors import DpgrsError
from dpgrs.fit_keys import FIT_KEYS, FitKey

NAME, DEFAULT, OTHER = "made_up", 0.5, 0.25
FIT_KEYS[NAME] = FitKey({"type": "number"}, joining=(), absent=(DEFAULT,))


@dataclass(frozen=True)
class Regression(privacy.Regression):
    """The section with the key, as if the class had it."""

    made_up: float = setting(DEFAULT, "Made up.", example=OTHER)


# Before any module takes it.
privacy.Regression = Regression


def release(folder, patch):
    """Return where the key is found, a dict."""
    # Only now, as modules take the keys when they are imported.
    from dpgrs.methods.fits import FitTerms
    from dpgrs.release.open_release import refits
    from dpgrs.study.fit_identity import READS_OF_FIT, fit_identity, fit_settings, seal
    from dpgrs.study.released import load_released
    from dpgrs.study.requests import READS_OF_METRICS
    from dpgrs.verify.bundle import verify_release
    from forged_releases import edit_statement
    from forged_releases import seal as sealed
    from step_studies import Study

    study, fitted, of = Study(folder, patch), [], FitTerms.of

    def noting(regression, **public):
        terms = of(regression, **public)
        fitted.append(terms.further)
        return terms

    patch.setattr(FitTerms, "of", noting)
    config = study.settings("reusecov-ellipsoid", accounting="gdp")
    config = config.changed(regression={NAME: OTHER})
    config = config.changed(release={"audit_draws": 0})
    default = config.changed(regression={NAME: DEFAULT})
    noisy = study.release(config)
    drawn = load_released(noisy, study.ledger(config).read())
    fits = [fit_settings(one) for one in (config, default)]
    study.bundle(config, noisy)
    statement, by_steps = study.statement(), fitted[:]
    fitted.clear()
    assert refits(folder / "bundle")
    edit_statement(folder / "bundle", ["fit", NAME], 2 * OTHER)
    sealed(folder / "bundle")
    with pytest.raises(DpgrsError) as refused:
        verify_release(folder / "bundle")
    return {
        "steps": [f"regression.{NAME}" in reads for reads in (READS_OF_FIT, READS_OF_METRICS)],
        "fit": by_steps,
        "number of seals": len({seal(*drawn, fit, {}) for fit in fits}),
        "identities": [fit_identity(fit).get(NAME) for fit in fits],
        "statement": statement["fit"].get(NAME),
        "inputs": [one["value"] for one in statement["public_inputs"] if NAME in one["name"]],
        "refit": fitted,
        "verify": NAME in str(refused.value),
    }


if __name__ == "__main__":
    root = Path(sys.argv[1])
    with pytest.MonkeyPatch.context() as own_patch:
        print(json.dumps(release(root, own_patch)))
