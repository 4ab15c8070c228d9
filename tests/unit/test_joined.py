"""Outcomes with budgets of their own: what is told of one does not move with the draws of others."""

import json
from itertools import product

import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.preflight.inspection import Inspection
from dpgrs.preflight.settings import budget_problems
from dpgrs.release.content import found_in_words
from dpgrs.statement.content import Total
from dpgrs.steps.draw import _draw_seeded
from dpgrs.study.draws import draws_of
from dpgrs.study.training_data import TrainingData
from dpgrs.types import Protection
from dpgrs.verify.bundle import verify_release
from forged_releases import STATEMENT, edit_statement, seal
from outcome_files import changed_outcomes
from release_data import FIT, OUTCOMES, make_bundle, make_events, make_terms
from step_settings import settings_for
from step_studies import N_VARIANTS, NAMES

DIGEST = "a" * 64
RELEASED = [name for name in methods_that("may_be_released") if Protection.FULL in METHODS[name].protections]
REGRESSIONS = [
    {"heritability": h2, "lambda_from": rule, "joint_projection": is_joint}
    for h2, rule, is_joint in product((None, 0.5), ("fixed", "adassp", "evidence"), (False, True))
]


def accepted(study, method, bounds):
    """List the configurations with separate budgets that the preflight accepts, with and without effects."""
    config = study.settings(method, outcome_budget="separate", bounds=bounds)
    found = [
        config.changed(regression=one, public={"effects": effects})
        for one, effects in product(REGRESSIONS, ([], ["effects.txt"]))
    ]
    return [one for one in found if not budget_problems(Inspection(one))]


def draw_in_public(study, config):
    """Draw as a release does, but by seeded noise, whose key does not hang on a ledger; return the path."""
    method, path = config.methods[0], study.root / "noisy.npz"
    mechanism, settings = mechanism_of(method), settings_for("draw", config)
    statistics = study.sum_up(config) if "statistics" in mechanism.takes else None
    data = TrainingData(study.root / "outcomes.zarr", statistics=statistics, variant_set="variant_set")
    (draw,) = draws_of(settings, mechanism, mechanism.drawn_for([method]), data)
    save_labelled(path, [_draw_seeded(draw, 1, 1)])
    return path


def told_of_first(study, config, noisy):
    """Return all that a fit tells of the first outcome, or of all together, as bytes and words."""
    ((label, arrays),) = load_labelled(study.fit(config, noisy))
    own = {
        name: (array[0] if array.shape[:1] == (len(NAMES),) else array).tobytes()
        for name, array in arrays.items()
    }
    return own, label, found_in_words(LinearFit.of(arrays), NAMES), arrays["weights"][1:].tobytes()


@pytest.mark.parametrize("bounds", ["tight", "worst-case"])
@pytest.mark.parametrize("method", RELEASED)
def test_fit__of_an_outcome_is_the_same_whatever_the_draws_of_others(study, method, bounds):
    configs = accepted(study, method, bounds)
    before = draw_in_public(study, configs[0]).read_bytes() if configs else None
    found = [told_of_first(study, config, study.root / "noisy.npz") for config in configs]
    with changed_outcomes(study.root / "outcomes.zarr") as outcomes:
        outcomes.values[N_VARIANTS][1:] = outcomes.values[N_VARIANTS][1:, ::-1]
    assert not configs or draw_in_public(study, configs[0]).read_bytes() != before
    for config, (*first, others) in zip(configs, found, strict=True):
        *second, moved = told_of_first(study, config, study.root / "noisy.npz")
        assert first == second
        assert others != moved


def test_accepted__are_fits_of_each_outcome_by_itself(study):
    every, found = 2 * len(REGRESSIONS), {}
    for method in RELEASED:
        found[method] = len(accepted(study, method, "tight"))
    # Lambda by the evidence, one ball for all, no heritability and public effects join outcomes.
    some = {"reusecov-gauss": every * 2 // 3, "reusecov-ellipsoid": every // 3, "blup": every // 4}
    none = {name: 0 for name in RELEASED if METHODS[name].pools}
    assert found == dict.fromkeys(RELEASED, every) | some | none


def test_verify_release__asks_for_the_total_of_all_where_public_effects_join_outcomes(tmp_path):
    *shared, cross = make_events(make_terms(), n_outcomes=1)
    drawn = [(event, None) for event in shared] + [(cross, name) for name in OUTCOMES]
    content = {"drawn": drawn, "method": "blup", "fit": FIT | {"heritability": 0.5}}
    content |= {"per_outcome": Total(1.0, 1e-6)}
    folder = make_bundle(tmp_path, terms=make_terms(epsilon=2.0), content=content)
    assert verify_release(folder)
    told = {"effects": [DIGEST], "effect_names": ["height.txt"]}
    edit_statement(folder, ["fit"], content["fit"] | told)
    inputs = json.loads((folder / STATEMENT).read_text())["public_inputs"]
    named = {"name": "effects of height.txt", "value": DIGEST, "origin": "8 of 8 sites"}
    edit_statement(folder, ["public_inputs"], [*inputs, named])
    seal(folder)
    with pytest.raises(DpgrsError, match="per_outcome must cover"):
        verify_release(folder)
