"""What serves several outcomes cannot be stated as the loss of one of them."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.privacy.sensitivity import gram_sensitivity, smallest_eigenvalue_sensitivity
from dpgrs.release.bundle import write_bundle
from dpgrs.release.statement import build_statement
from dpgrs.statement.content import PublicInput, Total
from dpgrs.statement.post_processing import MAPPED
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.draw_check import draw_problems
from dpgrs.verify.entry_check import FILE, STATED
from dpgrs.verify.sensitivity_check import sensitivity_problems
from forged_releases import STATEMENT
from release_choices import make_choice, make_chosen_statement
from release_data import (
    FIT,
    OUTCOMES,
    PROVENANCE,
    SITES,
    as_written,
    make_content,
    make_events,
    make_scores,
    make_terms,
)

TERMS = make_terms(epsilon=2.0)
COUNT, GRAM, CROSS = make_events(make_terms())
_, _, OWN = make_events(make_terms(), n_outcomes=1)
_CLAIM = smallest_eigenvalue_sensitivity(
    len(SITES), rows="haplotypes", neighbours="add-remove", unit="haplotype"
)
EIGENVALUE = replace(
    GRAM, statistic="smallest eigenvalue", entries=1, sensitivity=_CLAIM, mu=0.1, sigma=_CLAIM.value / 0.1
)


def release(folder, drawn, *, per_outcome=1.5, loadings=None, weights=None, **content):
    """Write a bundle of draws with their owners; of components by their loadings, if there are any."""
    found = make_content(folder, TERMS, drawn=drawn, per_outcome=Total(per_outcome, 1e-6), **content)
    more = {}
    if loadings is not None:
        components = "abc"[: loadings.shape[1]]
        lines = ["\t".join([name, *map(str, own)]) for name, own in zip(OUTCOMES, loadings, strict=True)]
        text = "\n".join(["\t".join(["outcome", *components]), *lines]) + "\n"
        digest = hashlib.sha256(text.encode()).hexdigest()
        named = PublicInput(STATED, digest, f"a survey, {FILE}")
        own = {"public_inputs": as_written([*found.public_inputs, named])}
        own["post_processing"] = (*found.post_processing, MAPPED.format(names=", ".join(components)))
        found, more = replace(found, **own), {"outcome_loadings": text}
        weights = loadings @ np.ones((len(components), len(SITES))) if weights is None else weights
    scores = make_scores(terms=TERMS, **({} if weights is None else {"weights": weights}))
    bundle = {"scores": scores, "statement": build_statement(found), "provenance": PROVENANCE}
    write_bundle(folder / "release", **bundle, **more)
    return folder / "release"


def cheap(event, **changed):
    """Return a draw of so much noise that it costs next to nothing."""
    return replace(event, mu=0.001, sigma=event.sensitivity.value / 0.001, **changed)


def owned(*events):
    return [(event, name) for name in OUTCOMES for event in events]


def test_verify_release__budgets_of_their_own(tmp_path):
    assert verify_release(release(tmp_path, [(COUNT, None), (GRAM, None), *owned(OWN)]))["epsilon"] == "2"


SPLIT = {
    "gram": (
        "reusecov-gauss",
        [(COUNT, None), (cheap(GRAM), None), *owned(GRAM, OWN)],
        "fewer or more of gram for all",
    ),
    "count": (
        "reusecov-gauss",
        [(cheap(COUNT), None), (GRAM, None), *owned(COUNT, OWN)],
        "fewer or more of count for",
    ),
    "smallest eigenvalue": (
        "adassp",
        [(COUNT, None), (GRAM, None), (cheap(EIGENVALUE), None), *owned(EIGENVALUE, OWN)],
        "fewer or more of smallest eigenvalue for all",
    ),
    "cross product": (
        "reusecov-gauss",
        [
            *((event, None) for event in (COUNT, GRAM)),
            (replace(CROSS, entries=3 * len(SITES) - 2), OUTCOMES[0]),
            *((cheap(CROSS, entries=1), name) for name in OUTCOMES[1:]),
        ],
        "the cross product must be 8 numbers, of one outcome, got 22",
    ),
}


@pytest.mark.parametrize(("method", "drawn", "line"), SPLIT.values(), ids=SPLIT)
def test_verify_release__finds_what_is_for_all_in_the_parts_of_outcomes(tmp_path, method, drawn, line):
    folder = release(tmp_path, drawn, method=method, fit=FIT)
    with pytest.raises(DpgrsError, match=line):
        verify_release(folder)


def test_verify_release__components_cost_all_outcomes_the_same(tmp_path):
    loadings = np.array([[0.9, 0.1, 0.1], [0.1, 0.9, 0.2], [0.2, 0.1, 0.9]])
    told = {"loadings": loadings, "method": "blup", "fit": FIT | {"heritability": 0.5}}
    shared = [(COUNT, None), (GRAM, None)]
    (tmp_path / "joint").mkdir()
    verify_release(release(tmp_path / "joint", [*shared, (CROSS, None)], per_outcome=2.0, **told))
    folder = release(tmp_path, [*shared, *owned(OWN)], per_outcome=1.0, **told)
    with pytest.raises(DpgrsError, match="per_outcome must cover its mechanisms"):
        verify_release(folder)


@pytest.mark.parametrize("largest", [1e-6, 1.0, 1e8])
@pytest.mark.parametrize("loading", [0.1, 0.0])
def test_verify_release__weights_of_each_outcome_are_sums_of_components(tmp_path, largest, loading):
    """Whatever the weights of another outcome are, beside which a tolerance may be large."""
    _, _, cross = make_events(make_terms(), n_outcomes=1)
    loadings = np.array([[loading], [loading], [0.9]])
    told = {"loadings": loadings, "method": "blup", "fit": FIT | {"heritability": 0.5}}
    told |= {"drawn": [(COUNT, None), (GRAM, None), (cross, None)], "per_outcome": 2.0}
    free = np.random.default_rng(0).normal(size=len(SITES))
    component = np.linspace(1, 2, len(SITES)) * largest
    (tmp_path / "sums").mkdir()
    verify_release(release(tmp_path / "sums", weights=loadings * component, **told))
    weights = np.array([free, loading * component, 0.9 * component])
    with pytest.raises(DpgrsError, match="must be sums of weights of components"):
        verify_release(release(tmp_path, weights=weights, **told))


def test_verify_release__a_choice_shrinks_nothing_of_a_method_that_chooses_nothing(tmp_path):
    """A forger draws next to nothing of one variant, and states X'X as that of one column."""
    claim = gram_sensitivity(1, rows="haplotypes", unit="haplotype", neighbours="add-remove")
    small = replace(GRAM, sensitivity=claim, mu=claim.value / GRAM.sigma)
    choice = make_choice(n_choices=1, epsilon=2.0**-20)
    folder = release(tmp_path, [(COUNT, None), (small, None), (CROSS, None), (choice, None)])
    with pytest.raises(DpgrsError, match="no draws but those of reusecov-gauss, got Kendall's correlations"):
        verify_release(folder)
    statement = json.loads((folder / STATEMENT).read_text())
    (line,) = sensitivity_problems(statement, n_columns=len(SITES))
    assert line == "the sensitivity of gram must be 1.5, got 0.25"


def test_draw_problems__an_outcome_has_one_choice(tmp_path):
    statement = make_chosen_statement(tmp_path)
    assert draw_problems(statement) == []
    choices = [part for part in statement["mechanisms"] if part["mechanism"] == "choice"]
    statement["mechanisms"].append(choices[1])
    (line,) = draw_problems(statement)
    assert f"Kendall's correlations for {choices[1]['outcome']}" in line
