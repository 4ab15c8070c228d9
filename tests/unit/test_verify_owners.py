"""What serves several outcomes cannot be stated as the loss of one of them."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.privacy.sensitivity import smallest_eigenvalue_sensitivity
from dpgrs.privacy.statement.content import PublicInput, Total
from dpgrs.privacy.statement.statement import build_statement
from dpgrs.release.bundle import write_bundle
from dpgrs.release.entry_check import FILE, STATED
from dpgrs.release.verify import verify_release
from release_data import (
    FIT,
    OUTCOMES,
    PROVENANCE,
    SITES,
    make_content,
    make_events,
    make_scores,
    make_terms,
)

TERMS = make_terms(epsilon=2.0)
COUNT, GRAM, CROSS = make_events(make_terms())
OWN = replace(CROSS, entries=len(SITES))
_CLAIM = smallest_eigenvalue_sensitivity(
    len(SITES), rows="haplotypes", neighbours="add-remove", unit="haplotype"
)
EIGENVALUE = replace(
    GRAM, statistic="smallest eigenvalue", entries=1, sensitivity=_CLAIM, mu=0.1, sigma=_CLAIM.value / 0.1
)


def release(folder, drawn, *, per_outcome=1.5, loadings=None, **content):
    """Write a bundle of draws with their owners; of components by their loadings, if there are any."""
    found = make_content(folder, TERMS, drawn=drawn, per_outcome=Total(per_outcome, 1e-6), **content)
    weights, more = {}, {}
    if loadings is not None:
        lines = ["\t".join([name, *map(str, own)]) for name, own in zip(OUTCOMES, loadings, strict=True)]
        text = "\n".join(["\t".join(["outcome", *"abc"[: loadings.shape[1]]]), *lines]) + "\n"
        digest = hashlib.sha256(text.encode()).hexdigest()
        named = PublicInput(STATED, digest, f"a survey, {FILE}")
        found, more = replace(found, public_inputs=(*found.public_inputs, named)), {"outcome_loadings": text}
        weights = {"weights": loadings @ np.ones((loadings.shape[1], len(SITES)))}
    scores = make_scores(terms=TERMS, **weights)
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
    "gram": ("reusecov-gauss", [(COUNT, None), (cheap(GRAM), None), *owned(GRAM, OWN)], "lack gram for all"),
    "count": ("reusecov-gauss", [(cheap(COUNT), None), (GRAM, None), *owned(COUNT, OWN)], "lack count for"),
    "smallest eigenvalue": (
        "adassp",
        [(COUNT, None), (GRAM, None), (cheap(EIGENVALUE), None), *owned(EIGENVALUE, OWN)],
        "lack smallest eigenvalue for all",
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
    verify_release(release(tmp_path / "joint", [*shared, (CROSS, None)], **told))
    folder = release(tmp_path, [*shared, *owned(OWN)], per_outcome=1.0, **told)
    with pytest.raises(DpgrsError, match="per_outcome must cover its mechanisms"):
        verify_release(folder)
