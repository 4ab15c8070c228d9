"""The bundle of a genome: verified, and refused where its draw claims less, or has more numbers."""

import json
from fractions import Fraction

import pytest

from dpgrs.errors import DpgrsError
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.release.sensitivity_check import sensitivity_problems
from dpgrs.release.verify import verify_release
from forged_releases import STATEMENT, edit_statement, seal
from golden_releases import CASES, GoldenStudy
from step_studies import N_VARIANTS


@pytest.fixture(params=["blup-genome", "blup-genome, replace-one, missing"])
def folder(request, tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    return GoldenStudy(tmp_path, monkeypatch, CASES[request.param]).publish()


def statement_of(folder):
    return json.loads((folder / STATEMENT).read_text())


def place_of_sums(statement):
    (place,) = [
        number for number, draw in enumerate(statement["mechanisms"]) if draw["statistic"] == "genome sums"
    ]
    return place


def test_verify__recomputes_the_claim_from_both_norms_and_the_grid(folder):
    assert verify_release(folder)
    statement = statement_of(folder)
    draw = statement["mechanisms"][place_of_sums(statement)]
    is_replaced = statement["guarantee"]["neighbours"] == "replace-one"
    norms = {public["name"]: public["value"] for public in statement["public_inputs"]}
    R, C = (Fraction(norms[f"norm of a row of {side}"]) for side in ("genotypes", "outcomes"))
    least = (2 if is_replaced else 1) * R * C
    assert least < Fraction(draw["sensitivity"]) < least * (1 + Fraction(1, 10**5))
    assert draw["entries"] == 3 * N_VARIANTS
    assert statement["fit"]["ld"] in [public["value"] for public in statement["public_inputs"]]
    # The claim of half the norms, or of another proof, is found by what is stated alone.
    for name, value in {"sensitivity": exact_text(float(least) / 2), "proof": "docs/proofs/gram.md"}.items():
        changed = json.loads(json.dumps(statement))
        changed["mechanisms"][place_of_sums(statement)][name] = value
        (line,) = sensitivity_problems(changed, n_columns=N_VARIANTS)
        assert line.startswith(f"the {name} of genome sums must be ")


@pytest.mark.parametrize("entries", [3 * N_VARIANTS + 1, 3 * (N_VARIANTS + 33)])
def test_verify__numbers_that_no_map_gives_are_refused(folder, entries):
    place = place_of_sums(statement_of(folder))
    edit_statement(folder, ["mechanisms", place, "entries"], entries)
    seal(folder)
    with pytest.raises(DpgrsError, match=r"the genome sums must be .* numbers, of 3 outcomes, got"):
        verify_release(folder)
