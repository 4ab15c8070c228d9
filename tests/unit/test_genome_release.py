"""The bundle of a genome: verified, and refused where its draw claims less, or has more numbers."""

import gzip
import json
from fractions import Fraction

import numpy as np
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import load_arrays, save_arrays
from dpgrs.privacy.accounting.exact_numbers import exact_text
from dpgrs.release.open_release import refits
from dpgrs.statement.effects_metadata import TRUNCATED_LD
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.claim_check import number_problems
from dpgrs.verify.draw_check import draw_problems
from dpgrs.verify.folder_check import list_files
from dpgrs.verify.input_check import ANCESTRY, SAME_ANCESTRY, input_problems
from dpgrs.verify.sensitivity_check import sensitivity_problems
from dpgrs.verify.statistics_check import ld_problems
from forged_releases import STATEMENT, edit_statement, seal
from forged_releases import digest as digest_of
from golden_releases import CASES, GoldenStudy
from refused import refused
from step_studies import N_VARIANTS


@pytest.fixture(params=["blup-genome", "blup-genome, replace-one, missing"])
def folder(request, tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    return GoldenStudy(tmp_path, monkeypatch, CASES[request.param]).publish()


@pytest.fixture
def with_effects(tmp_path, monkeypatch):
    """A release with equal shares, and the LD beside it."""
    tmp_path.chmod(0o700)
    folder = GoldenStudy(tmp_path, monkeypatch, CASES["blup-genome, equal shares, missing"]).publish()
    return folder, tmp_path / "truncated_ld.npz"


def test_write_release__a_refused_release_leaves_the_ld_of_an_earlier_one(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    study = GoldenStudy(tmp_path, monkeypatch, CASES["blup-genome, equal shares, missing"])
    folder, ld = study.publish(), tmp_path / "truncated_ld.npz"
    # What stands for the LD of the bundle of another release.
    ld.write_bytes(b"of another release")
    edit_statement(folder, ["fit", "ld"], "0" * 64)
    with refused("another-release-in-folder", "`study`"):
        study.publish()
    assert ld.read_bytes() == b"of another release"
    assert not [*tmp_path.glob(".*partial")]


def changed_arrays(folder, **changes):
    """Change arrays of the statistics as a forger would, and the tables that nobody recomputes."""
    path = folder / "statistics" / "statistics.npz"
    arrays = load_arrays(path)
    for name, change in changes.items():
        arrays[name] = change(arrays[name])
    save_arrays(path, arrays)
    seal(folder)


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


MOMENTS = ["blup-genome, second moments", "blup-genome, second moments, replace-one, missing"]


@pytest.fixture(params=MOMENTS)
def with_moments(request, tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    return GoldenStudy(tmp_path, monkeypatch, CASES[request.param]).publish()


def place_of_moments(statement):
    statistics = [draw["statistic"] for draw in statement["mechanisms"]]
    return statistics.index("genome moments")


def test_verify__recomputes_the_claim_of_moments_from_their_norm(with_moments):
    assert verify_release(with_moments)
    statement = statement_of(with_moments)
    draw = statement["mechanisms"][place_of_moments(statement)]
    assert draw["outcome"] is None
    norms = {public["name"]: public["value"] for public in statement["public_inputs"]}
    D = Fraction(norms["norm of second moments of a row"])
    times = 2 if statement["guarantee"]["neighbours"] == "replace-one" else 1
    assert abs(Fraction(draw["sensitivity"]) ** 2 / (times * (5 * D) ** 2) - 1) < Fraction(1, 10**5)
    for name, value in {
        "sensitivity": exact_text(float(draw["sensitivity"]) / 1.001),
        "proof": "docs/proofs/genome.md",
    }.items():
        changed = json.loads(json.dumps(statement))
        changed["mechanisms"][place_of_moments(statement)][name] = value
        (line,) = sensitivity_problems(changed, n_columns=N_VARIANTS)
        assert line.startswith(f"the {name} of genome moments must be ")


@pytest.mark.parametrize("entries", [0, N_VARIANTS * (N_VARIANTS + 1) // 2 + 1])
def test_verify__moments_of_more_pairs_than_there_are_are_refused(with_moments, entries):
    place = place_of_moments(statement_of(with_moments))
    edit_statement(with_moments, ["mechanisms", place, "entries"], entries)
    seal(with_moments)
    with pytest.raises(DpgrsError, match=r"genome moments must be .* numbers, of pairs|entries"):
        verify_release(with_moments)


def test_verify__moments_that_are_not_drawn_or_not_stated_are_found(with_moments):
    statement = statement_of(with_moments)
    undrawn, unstated = (json.loads(json.dumps(statement)) for _ in range(2))
    del undrawn["mechanisms"][place_of_moments(statement)]
    unstated["public_inputs"] = [
        public for public in statement["public_inputs"] if "second moments" not in public["name"]
    ]
    assert draw_problems(statement) == []
    assert draw_problems(undrawn) == [
        "the mechanisms must hold just what blup-genome draws, but have fewer or more of genome moments for "
        "all outcomes"
    ]
    assert draw_problems(unstated) == [
        "the mechanisms must hold no draws but those of blup-genome, got genome moments (gaussian)"
    ]
    edit_statement(with_moments, ["public_inputs"], unstated["public_inputs"])
    seal(with_moments)
    with pytest.raises(DpgrsError, match="no draws but those of blup-genome, got genome moments"):
        verify_release(with_moments)


def test_verify__numbers_of_draws_along_a_map_are_what_the_program_writes(with_moments):
    """Their grids too, and norms that are smaller than a claim is of."""
    statement = statement_of(with_moments)
    assert number_problems(statement) == []
    for name, place in (
        ("genome moments", place_of_moments(statement)),
        ("genome sums", [draw["statistic"] for draw in statement["mechanisms"]].index("genome sums")),
    ):
        changed = json.loads(json.dumps(statement))
        changed["mechanisms"][place]["grid"] = "0.5"
        (line,) = number_problems(changed)
        assert line.startswith(f"the grid of {name} must be ")
    for input_name, name in (
        ("norm of second moments of a row", "genome moments"),
        ("norm of a row of outcomes", "genome sums"),
    ):
        changed = json.loads(json.dumps(statement))
        for public in changed["public_inputs"]:
            if public["name"] == input_name:
                public["value"] = f"{0.999 * float(public['value']):g}"
        lines = sensitivity_problems(changed, n_columns=N_VARIANTS)
        assert lines
        assert all(line.startswith(f"the sensitivity of {name} must be ") for line in lines)


@pytest.mark.parametrize(
    ("fit", "inputs"),
    [
        ({"same_ancestry": True}, {ANCESTRY: SAME_ANCESTRY}),
        ({"effects": ["a" * 64], "effect_names": ["one.txt"]}, {"effects of one.txt": "a" * 64}),
    ],
)
def test_verify__a_fit_with_moments_has_neither_effects_nor_an_ancestry(with_moments, fit, inputs):
    statement = statement_of(with_moments)
    assert input_problems(statement) == []
    public = [{"name": name, "value": value, "origin": "a paper"} for name, value in inputs.items()]
    changed = statement | {
        "fit": statement["fit"] | fit,
        "public_inputs": statement["public_inputs"] + public,
    }
    (line,) = input_problems(changed)
    assert line.startswith("the public inputs and the fit must have the same ")


def test_verify__public_scores_are_subtracted_from_outcomes_with_one_file_each(folder):
    statement = statement_of(folder)
    name = statement["data_domain"]["outcomes"][0]

    def lines(files, subtracted, method="blup-genome"):
        digests = [f"{number:064x}" for number in range(len(files))]
        fit = {"effects": digests, "effect_names": files} if files else {}
        inputs = [
            {"name": f"effects of {file}", "value": value, "origin": "a paper"}
            for file, value in zip(files, digests, strict=True)
        ]
        changed = {"fit": statement["fit"] | fit | {"subtracted": subtracted}, "method": method}
        changed["public_inputs"] = statement["public_inputs"] + inputs
        return [line for line in input_problems(statement | changed) if "subtracted" in line]

    assert lines([f"{name}.txt.gz", "gwas.tsv"], [name]) == []
    wrong = f"fit.subtracted must name outcomes with one file of effects each, got {name}"
    assert lines([], [name]) == lines(["gwas.tsv"], [name]) == [wrong]
    assert lines([f"{name}.txt", f"{name}.tsv.gz"], [name]) == [wrong]
    assert lines(["other.txt"], ["other"]) == [wrong.replace(f"got {name}", "got other")]
    said = "fit.subtracted must not be there with blup-ld"
    assert lines([f"{name}.txt"], [name], method="blup-ld") == [said]


def test_verify__effects_along_directions_are_those_of_arrays_and_ld(with_effects):
    folder, ld = with_effects
    assert verify_release(folder, ld=ld)
    assert not refits(folder)
    arrays = load_arrays(folder / "statistics" / "statistics.npz")
    assert arrays["n_directions"] == N_VARIANTS
    assert (arrays["attenuations"] == 0.9).all()
    table = gzip.decompress((folder / "statistics" / "a.tsv.gz").read_bytes()).decode()
    assert table.splitlines()[0].endswith("\tn\tnoise_scale\tld_score")
    meta = (folder / "statistics" / "a.tsv.gz-meta.yaml").read_text()
    assert "Not supported: PRS-CS" in meta


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("effects", lambda r: r * 1.001, "beta must follow from"),
        ("noise_scale", lambda s: s * 0.999, "standard_error must follow from"),
        ("noise_scale", lambda s: s * 2, "ld_score at least its square"),
        ("ld_score", lambda s: s * 1.001, "ld_score must follow from"),
        ("attenuations", lambda a: a * 0.99, "standard_error must follow from"),
        ("attenuations", lambda a: a * 1.2, "attenuations must be above 0 and at most 1"),
        ("n_directions", lambda K: K + 1, "n_directions must be 4"),
    ],
)
def test_verify__changed_effects_are_found(with_effects, name, change, said):
    folder, _ = with_effects
    changed_arrays(folder, **{name: change})
    with pytest.raises(DpgrsError, match=said):
        verify_release(folder)


def test_verify__another_ld_is_found(with_effects, tmp_path):
    folder, ld = with_effects
    other = tmp_path / "other.npz"
    save_arrays(other, load_arrays(ld) | {"1/1/eigenvalues": np.full(2, 1.5)})
    with pytest.raises(DpgrsError, match=r"other.npz must have the SHA-256 that the statement names"):
        verify_release(folder, ld=other)
    # A forger names the digest of another LD, too, and finds that numbers do not follow from it.
    statement = statement_of(folder)
    digest = {"value": digest_of(other)}
    statement["public_inputs"] = [
        public | digest if public["name"] == TRUNCATED_LD else public for public in statement["public_inputs"]
    ]
    files, _ = list_files(folder)
    lines = ld_problems(statement, files, other)
    assert [line.split(": ")[1] for line in lines] == [
        "noise_scale must follow from other.npz",
        "ld_score must follow from other.npz",
    ]


def test_verify__effects_outside_the_ld_are_found(with_effects, tmp_path):
    folder, ld = with_effects
    other = tmp_path / "other.npz"
    arrays = load_arrays(ld)
    for name in ("eigenvectors", "eigenvalues"):
        arrays[f"1/1/{name}"] = arrays[f"1/1/{name}"][..., 1:]
    save_arrays(other, arrays)
    statement = statement_of(folder)
    for public in statement["public_inputs"]:
        if public["name"] == TRUNCATED_LD:
            public["value"] = digest_of(other)
    lines = ld_problems(statement, list_files(folder)[0], other)
    assert lines[-1].endswith("effects must be along the eigenvectors of other.npz")


def test_verify__ld_goes_with_effects_along_directions(folder, tmp_path):
    with refused("release-without-ld", "`--ld`", error=UsageError):
        verify_release(folder, ld=tmp_path / "ld.npz")
