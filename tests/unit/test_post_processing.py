"""What a statement says was done after the noise, and that it contradicts nothing that hangs on it."""

import numpy as np
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.release.content import found_in_words
from dpgrs.statement.content import Total
from dpgrs.statement.method_choice import REASONS, reason_in_words
from dpgrs.statement.post_processing import (
    OF_ACCURACY,
    is_post_processing,
    post_processing,
)
from dpgrs.verify.bundle import verify_release
from release_data import FIT, OUTCOMES, make_bundle, make_events, make_terms

KNOWN = {"protection": "full", "missing_outcomes": "none"}
COUNT, CENTRED, CUT_OFF = "is taken as at least 1.", "own intercept column", "eigenvalues, which only noise"
ROUNDED = ("10 significant digits", "constant of a prediction")
RESCALED = ("is known is taken", "over those on which it is known")
SHOWN = "divided by the share of effects that its clip leaves"
BLUP = (SHOWN, "means are those", "best linear unbiased", "Standard errors are withheld where")
FIT_OF_SUMS = (SHOWN, CENTRED, CUT_OFF)


@pytest.mark.parametrize(
    ("method", "lambda_from", "is_counted", "steps"),
    [
        ("reusecov-gauss", "fixed", False, [COUNT, *FIT_OF_SUMS, "with lambda 0.7 per row"]),
        ("reusecov-gauss", "adassp", False, [COUNT, *FIT_OF_SUMS, "lambda from the spread"]),
        ("reusecov-gauss", "evidence", True, [COUNT, *RESCALED, *FIT_OF_SUMS, "marginal likelihood"]),
        ("reusecov-ellipsoid", "fixed", False, [COUNT, "ellipsoid", *FIT_OF_SUMS, "with lambda 0.7"]),
        ("adassp", "fixed", True, [COUNT, *RESCALED, *FIT_OF_SUMS, "is lowered by", "less that eigen"]),
        ("blup", "fixed", False, [COUNT, *BLUP]),
        ("blup-shared", "fixed", False, [COUNT, *BLUP, "share factors"]),
        ("k-blup", "fixed", True, [COUNT, *RESCALED, "variants chosen for it", *BLUP]),
    ],
)
def test_post_processing__says_what_the_method_did(method, lambda_from, is_counted, steps):
    fit = FIT | {"lambda": 0.7, "lambda_from": lambda_from}
    missing = "counted" if is_counted else "none"
    said, steps = post_processing(method, fit, **KNOWN | {"missing_outcomes": missing}), [*steps, *ROUNDED]
    assert [word for word, step in zip(steps, said, strict=True) if word not in step] == []


def is_said(said, method, fit, **known):
    return is_post_processing(said, method, fit, outcomes=["a", "b"], **known)


def made_of(folder, said, **content):
    """Write a bundle that says this was done after the noise; outcomes have budgets of their own."""
    count, gram, cross = make_events(make_terms(), n_outcomes=1)
    drawn = [(count, None), (gram, None), *((cross, name) for name in OUTCOMES)]
    content |= {"drawn": drawn, "per_outcome": Total(1.0, 1e-6), "method": "reusecov-ellipsoid"}
    folder.mkdir()
    content["post_processing"] = said
    return make_bundle(folder, terms=make_terms(epsilon=2.0), content=content)


@pytest.mark.parametrize(
    ("fit", "missing"), [({"joint_projection": True}, "none"), ({"lambda": 2.0}, "none"), ({}, "counted")]
)
def test_verify_release__finds_steps_of_another_fit(tmp_path, fit, missing):
    """By what moves outcomes together an outcome would cost more; of counts there would be draws."""
    known = KNOWN | {"missing_outcomes": missing}
    right = post_processing("reusecov-ellipsoid", FIT, **KNOWN)
    verify_release(made_of(tmp_path / "right", right))
    wrong = post_processing("reusecov-ellipsoid", FIT | fit, **known)
    more = [*right, *(line for line in wrong if line not in right)]
    for name, said in (("wrong", wrong), ("more", more), ("fewer", right[1:]), ("twice", right * 2)):
        with pytest.raises(DpgrsError, match="the post_processing must be what the method, its fit and"):
            verify_release(made_of(tmp_path / name, said))


@pytest.mark.parametrize("method", methods_that("may_be_released"))
@pytest.mark.parametrize("more", [{}, {"has_accuracy": True}, {"components": ["first", "second"]}])
def test_is_post_processing__of_every_method(method, more):
    protection = METHODS[method].protections[0]
    known = more | {"protection": protection, "missing_outcomes": "counted"}
    said = post_processing(method, FIT, **known)
    assert is_said(said, method, FIT, **known)
    assert not is_said([*said, *OF_ACCURACY], method, FIT, **known)
    for place in range(len(said)):
        assert not is_said(said[:place] + said[place + 1 :], method, FIT, **known)


@pytest.mark.parametrize("method", REASONS)
def test_is_post_processing__says_why_a_method_was_taken(method):
    said = post_processing(method, FIT, **KNOWN)
    assert is_said([reason_in_words(method), *said], method, FIT, **KNOWN) == (method != "blup")
    assert not is_said([reason_in_words("blup-ld")] * 2 + said, method, FIT, **KNOWN)


FITTED = {
    "blup-ld": {"mismatch": np.array([0.1, 0.2]), "correlations": np.array([0.5, 0.25])},
    "blup-hedged": {"mismatch": np.zeros(2), "public_share": np.array(0.25)},
    "blup-genome": {"n_factors": np.array(2), "correlations": np.array([0.5, 0.25])},
    "blup": {"correlations": np.array([0.5, 0.25])},
}


@pytest.mark.parametrize("method", FITTED)
def test_is_post_processing__takes_what_a_fit_found_out(method):
    fitted = LinearFit(np.zeros((2, 3)), np.zeros(3), np.zeros(2), **FITTED[method])
    found, fit = found_in_words(fitted, ["a", "b"]), FIT | {"effects": ["0" * 64]}
    assert len(found) > 1
    said = post_processing(method, fit, fit_findings=found, **KNOWN)
    assert is_said(said, method, fit, **KNOWN)
    assert not is_said([*said, "Nothing else."], method, fit, **KNOWN)
    # By its numbers alone may such a line be another, and each is there once.
    for line in found:
        for more in (line, f"{line} All is private.", line.replace(" ", "  ", 1), line[:-1]):
            assert not is_said([*said, more], method, fit, **KNOWN)
            if more != line:
                assert not is_said([more if one == line else one for one in said], method, fit, **KNOWN)
    own = post_processing(method, FIT, fit_findings=found, **KNOWN)
    assert is_said(own, method, FIT, **KNOWN) == ("correlations" not in FITTED[method])


def test_is_post_processing__of_a_name_of_digits_has_a_verdict():
    """A pattern that may split digits in many ways would look for one for days."""
    names, fit = ["1." * 300, "b"], FIT | {"effects": ["0" * 64]}
    fitted = LinearFit(np.zeros((2, 3)), np.zeros(3), np.zeros(2), correlations=np.array([0.5, 0.25]))
    said = post_processing("blup", fit, fit_findings=found_in_words(fitted, names), **KNOWN)
    assert is_post_processing(said, "blup", fit, outcomes=names, **KNOWN)
    wrong = [line.replace("1.1.", "1.1.x", 1) for line in said]
    assert wrong != said
    assert not is_post_processing(wrong, "blup", fit, outcomes=names, **KNOWN)
