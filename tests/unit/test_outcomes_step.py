"""What a release makes of a table of outcomes, before anything of it is charged."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.io.files import file_digest, remove
from dpgrs.io.outcomes import Outcomes
from dpgrs.steps import make_outcomes as outcomes_step
from dpgrs.study.counted_people import TELL_NOBODY
from random_cohorts import random_alleles
from refused import refused
from step_settings import settings_for

PEOPLE = [f"HG{number:05}" for number in range(40)]
STANDARD = np.random.default_rng(1).standard_normal(len(PEOPLE))
STANDARD = (STANDARD - STANDARD.mean()) / STANDARD.std()


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Make outcomes of the people from a table with these columns."""
    variant_set = SimpleNamespace(sample_id=np.array(PEOPLE), n_samples=len(PEOPLE), n_variants=5)
    monkeypatch.setattr(outcomes_step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))

    def make(
        columns,
        *,
        rows="people",
        mode="release",
        others=(),
        scales=None,
        people_counts=None,
        loadings=None,
        is_public=False,
        is_reference=False,
        **terms,
    ):
        lines = [["sample", *columns], *zip(PEOPLE, *columns.values(), strict=True), *others]
        table, output = tmp_path / "y.tsv", tmp_path / "outcomes.zarr"
        remove(output)
        table.write_text("\n".join("\t".join(map(str, line)) for line in lines) + "\n")
        outcomes = {"count": None, "test_share": 0} | terms
        sections = {"cohort": {"rows": rows}, "variants": {"size": 5}, "outcomes": outcomes}
        sections |= {"public": {"outcomes": {"sha256": file_digest(table)}}} if is_public else {}
        settings = settings_for("make-outcomes", mode=mode, **sections)
        files = {"table": table, "scales": scales, "people_counts": people_counts, "output": output}
        files |= {"loadings": loadings, "is_reference": is_reference}
        outcomes_step.make_outcomes(settings, "variant_set", replicate=1, **files)
        return Outcomes.load(output)

    return make


def test_make_outcomes__standardised_ones_pass_as_they_are(make):
    outcomes = make({"a": STANDARD, "b": -STANDARD}, others=[("else", 1e6, 1e6)])
    assert outcomes.names == ("a", "b")
    np.testing.assert_array_equal(outcomes.values[5], [STANDARD, -STANDARD])


@pytest.mark.parametrize(
    "values",
    [170 + 7 * STANDARD, np.arange(len(PEOPLE)) % 2, [0.25] * len(PEOPLE), 20 * STANDARD],
    ids=["centimetres", "binary", "constant", "wide"],
)
def test_make_outcomes__release_refuses_raw_ones_and_tells_nothing_of_them(make, tmp_path, values):
    with refused("outcomes-not-standardised") as caught:
        make({"good": STANDARD, "weight": values})
    message = str(caught.value)
    assert "must hold outcomes of mean 0 and standard deviation 1" in message
    assert "tell nobody" in message
    assert "\n" not in message
    # The same words for every table: no column, value or count.
    words = message.replace(str(tmp_path), "")
    assert not any(word in words for word in ("good", "weight", "HG0", str(len(PEOPLE)), "170", "0.25"))
    assert not (tmp_path / "outcomes.zarr").exists()


def test_make_outcomes__public_ones_are_of_the_people_of_the_variant_set_and_no_others(make, monkeypatch):
    make({"a": STANDARD}, is_public=True)
    with refused("outcomes-of-other-people"):
        make({"a": STANDARD}, others=[("else", 0)], is_public=True)
    fewer = SimpleNamespace(
        sample_id=np.array([*PEOPLE, "one more"]), n_samples=len(PEOPLE) + 1, n_variants=5
    )
    monkeypatch.setattr(outcomes_step, "VariantSet", SimpleNamespace(open=lambda path: fewer))
    with refused("outcomes-of-other-people") as caught:
        make({"a": STANDARD}, is_public=True)
    assert "one more" not in str(caught.value)


@pytest.mark.parametrize("mode", ["release", "benchmark"])
def test_make_outcomes__too_few_people_are_told_to_the_log_alone(make, tmp_path, capsys, mode):
    others = [(f"X{number}", 0) for number in range(len(PEOPLE) + 1)]
    with refused("too-few-shared-people", "y.tsv", "least_share") as caught:
        make({"good": STANDARD}, others=others, mode=mode)
    message = str(caught.value).replace(str(tmp_path), "")
    assert not any(word in message for word in ("40", "41", "81", "HG"))
    assert ("tell nobody that it failed" in message) == (mode == "release")
    assert not (tmp_path / "outcomes.zarr").exists()
    log = capsys.readouterr()
    assert log.out == ""
    assert log.err.startswith(
        "40 of 40 people with genotypes (100.0%) are in the table of outcomes; 40 of its"
    )
    counts = tmp_path / "counts.tsv"
    make({"good": STANDARD}, others=others, mode=mode, least_share=0.4, people_counts=counts)
    assert counts.read_text().splitlines()[1] == "outcome\tgood\t40\t40\t81\t40\t0"
    # A table of the reference may hold everybody.
    assert make({"good": STANDARD}, others=others, mode=mode, is_reference=True).names == ("good",)


@pytest.mark.parametrize("mode", ["release", "benchmark"])
def test_make_outcomes__columns_of_too_few_values_are_refused(make, tmp_path, capsys, mode):
    few, none = [*STANDARD[:19], *["NA"] * 21], ["NA"] * len(PEOPLE)
    columns = {"good": STANDARD, "few": few, "none": none}
    with refused("too-few-shared-people", "y.tsv", "few, none") as caught:
        make(columns, mode=mode)
    message = str(caught.value).replace(str(tmp_path), "")
    assert not any(word in message for word in ("19", "21", "40", "HG"))
    assert ("tell nobody that it failed" in message) == (mode == "release")
    assert not (tmp_path / "outcomes.zarr").exists()
    assert "none 0 (100.0% missing), few 19 (52.5% missing)" in capsys.readouterr().err
    del columns["none"]
    # Standardised as it is, whether few or many have it.
    columns["few"] = [*(STANDARD[:19] - STANDARD[:19].mean()), *["NA"] * 21]
    assert make(columns, mode=mode, least_share=0.47).names == ("good", "few")


def test_make_outcomes__both_haplotypes_of_a_person_have_the_outcome(make):
    outcomes = make({"a": STANDARD}, rows="haplotypes", mode="benchmark", test_share=0.5)
    np.testing.assert_array_equal(outcomes.values[5], [np.repeat(STANDARD, 2)])
    first, second = outcomes.is_training.reshape(-1, 2).T
    np.testing.assert_array_equal(first, second)
    assert outcomes.rows == "haplotypes"
    assert 0 < first.sum() < len(PEOPLE)


def test_make_outcomes__columns_that_are_not_used_are_not_judged(make):
    columns = {"good": STANDARD, "raw": 170 + STANDARD, "none": ["NA"] * len(PEOPLE)}
    assert make(columns, count=1).names == ("good",)


def test_make_outcomes__public_constants_standardise(make, tmp_path):
    scales = tmp_path / "scales.tsv"
    scales.write_text("outcome\tcentre\tscale\nheight\t170\t5\n")
    outcomes = make({"height": 170 + 5 * STANDARD}, scales=scales)
    np.testing.assert_allclose(outcomes.values[5], [STANDARD], atol=1e-12)
    assert np.isnan(outcomes.prevalence).all()


@pytest.mark.parametrize("count", [None, 2])
def test_make_outcomes__prevalence_is_that_of_the_constants(make, tmp_path, count):
    """A quantitative outcome with the same centre and scale has none, and nothing is found from values."""
    scales = tmp_path / "scales.tsv"
    lines = ["outcome\tcentre\tscale\tprevalence\tpopulation_prevalence", "other\t0.2\t0.4\t\t"]
    lines += ["case\t\t\t0.2\t0.01", "height\t0\t1\t\t"]
    scales.write_text("\n".join(lines) + "\n")
    columns = {"height": STANDARD, "case": np.repeat([1, 0], [8, 32]), "other": 0.2 + 0.4 * STANDARD}
    outcomes = make(columns, scales=scales, count=count, mode="benchmark")
    np.testing.assert_array_equal(outcomes.prevalence, [np.nan, 0.2, np.nan][:count])
    np.testing.assert_array_equal(outcomes.population_prevalence, [np.nan, 0.01, np.nan][:count])


def test_make_outcomes__release_tells_nothing_of_values_that_are_not_binary(make, tmp_path):
    scales = tmp_path / "scales.tsv"
    scales.write_text("outcome\tprevalence\ncase\t0.5\n")
    with refused("binary-column-values", TELL_NOBODY) as caught:
        make({"case": [7] * len(PEOPLE)}, scales=scales)
    assert "7" not in str(caught.value)


def test_make_outcomes__benchmark_names_raw_ones(make, tmp_path):
    """Of a large table preflight looks at some people alone."""
    raw = {f"raw{number}": 170 + STANDARD for number in range(5)}
    with refused("values-off-scale") as caught:
        make({"good": STANDARD} | raw, mode="benchmark", others=[("else", 0, *[1] * 5)])
    first, *_, last = str(caught.value).splitlines()
    assert "got mean 170 and standard deviation 1.01 in column `raw0`. Give its public centre" in first
    assert last == "`outcomes.file`: 2 more columns like these."
    assert not (tmp_path / "outcomes.zarr").exists()


@pytest.fixture
def simulate(tmp_path, monkeypatch):
    """Simulate outcomes of people, and split them: a value and a side for each person."""
    alleles = random_alleles(5, 2 * len(PEOPLE))

    def simulate(people, *, mode, rows="people", seed=1, replicate=1, **changes):
        own = alleles.reshape(5, len(PEOPLE), 2)[:, people].reshape(5, -1)
        variant_set = SimpleNamespace(
            sample_id=np.array(PEOPLE)[people],
            n_samples=len(people),
            n_variants=5,
            variant_rank=np.arange(5),
            frequency=np.full(5, 0.3),
            of_size=np.arange,
            genotypes=lambda columns, people: pack(own[columns, 2 * people.start : 2 * people.stop]),
        )
        monkeypatch.setattr(outcomes_step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
        terms = {"count": 1, "heritability": 0.5, "causal_share": 1.0, "test_share": 0.0} | changes
        output, sections = tmp_path / "outcomes.zarr", {"cohort": {"rows": rows}, "variants": {"size": 5}}
        settings = settings_for("make-outcomes", mode=mode, seed=seed, outcomes=terms, **sections)
        remove(output)
        outcomes_step.make_outcomes(settings, "variant_set", replicate=replicate, output=output)
        made = Outcomes.load(output)
        assert made.names[0] == "simulated_0001"
        return made.values[5][0], made.is_training

    return simulate


def test_make_outcomes__release_depends_on_nobody_else(simulate):
    """Who leaves moves neither the outcomes nor the sides of the others, also where all are on one side."""
    everybody, share = np.arange(len(PEOPLE)), 1e-6
    values, is_training = simulate(everybody, mode="release", test_share=share)
    assert is_training.all()
    for leaves in (0, 17):
        others = np.delete(everybody, leaves)
        own, sides = simulate(others, mode="release", test_share=share)
        np.testing.assert_array_equal(own, values[others])
        np.testing.assert_array_equal(sides, is_training[others])


def test_make_outcomes__benchmark_scales_by_the_cohort_and_keeps_both_sides(simulate):
    everybody = np.arange(len(PEOPLE))
    values, is_training = simulate(everybody, mode="benchmark", test_share=1e-6)
    assert np.count_nonzero(~is_training) == 1
    others = everybody[is_training]
    own, sides = simulate(others, mode="benchmark", test_share=1e-6)
    assert (own != values[others]).all()
    assert np.count_nonzero(~sides) == 1


@pytest.mark.parametrize("change", [{"replicate": 2}, {"seed": 2}])
def test_make_outcomes__every_replicate_and_seed_has_outcomes_and_sides_of_its_own(simulate, change):
    everybody, options = np.arange(len(PEOPLE)), {"mode": "release", "test_share": 0.5}
    values, sides = simulate(everybody, **options)
    again, same = simulate(everybody, **options)
    assert (values == again).all()
    assert (sides == same).all()
    other, changed = simulate(everybody, **options, **change)
    assert (values != other).all()
    assert (sides != changed).any()


def test_make_outcomes__simulated_ones_have_the_prevalence_that_is_asked_for(simulate, tmp_path):
    everybody = np.arange(len(PEOPLE))
    values, _ = simulate(everybody, mode="release", count=3, prevalence=0.25)
    np.testing.assert_allclose(np.unique(values), [-0.25 / np.sqrt(0.1875), 0.75 / np.sqrt(0.1875)])
    np.testing.assert_array_equal(Outcomes.load(tmp_path / "outcomes.zarr").prevalence, [0.25] * 3)
    simulate(everybody, mode="release")
    assert np.isnan(Outcomes.load(tmp_path / "outcomes.zarr").prevalence).all()


def test_make_outcomes__simulated_ones_share_factors(simulate, tmp_path):
    simulate(np.arange(len(PEOPLE)), mode="release", count=4, factors=2)
    assert np.linalg.matrix_rank(Outcomes.load(tmp_path / "outcomes.zarr").effects[5]) == 2


def test_make_outcomes__simulated_ones_follow_networks(simulate, tmp_path):
    everybody = np.arange(len(PEOPLE))
    values = [simulate(everybody, mode="release", network=width)[0] for width in (None, 2, 2, 3)]
    np.testing.assert_array_equal(values[1], values[2])
    assert (values[1] != values[0]).any()
    assert (values[1] != values[3]).any()


@pytest.mark.parametrize(("share", "least", "most"), [(0.01, 0, 10), (0.5, 60, 140), (1.0, 200, 200)])
def test_make_outcomes__causal_share_is_the_chance_of_an_effect(simulate, tmp_path, share, least, most):
    simulate(np.arange(len(PEOPLE)), mode="release", causal_share=share, count=40)
    effects = Outcomes.load(tmp_path / "outcomes.zarr").effects[5]
    # 200 of them: the limits are more than 5 standard deviations wide.
    assert least <= np.count_nonzero(effects) <= most


def test_make_outcomes__simulated_for_haplotypes(simulate):
    values, is_training = simulate(np.arange(len(PEOPLE)), mode="release", test_share=0.5, rows="haplotypes")
    assert values.shape == is_training.shape == (2 * len(PEOPLE),)
    np.testing.assert_array_equal(is_training[::2], is_training[1::2])
    assert (values[::2] != values[1::2]).any()


def test_make_outcomes__raise_on_a_folder_with_files_before_anything_is_simulated(tmp_path, monkeypatch):
    (tmp_path / "outcomes.zarr").mkdir()
    (tmp_path / "outcomes.zarr" / "notes.txt").write_text("mine\n")
    monkeypatch.setattr(outcomes_step, "SimulatedRows", None)
    settings = settings_for("make-outcomes", outcomes={"count": 2})
    with refused("folder-not-empty", error=UsageError):
        outcomes_step.make_outcomes(settings, "variant_set", replicate=1, output=tmp_path / "outcomes.zarr")
    assert (tmp_path / "outcomes.zarr" / "notes.txt").read_text() == "mine\n"


def test_make_outcomes__raise_without_a_number_of_simulated_ones(simulate):
    with refused("outcome-count-missing", "`outcomes.count`", error=UsageError):
        simulate(np.arange(len(PEOPLE)), mode="release", count=None)


def test_make_outcomes__takes_loadings_in_the_order_of_the_outcomes(make, tmp_path):
    table = tmp_path / "loadings.tsv"
    table.write_text("outcome\torigin\tf\nb\tx\t0.5\na\tx\t0.8\n")
    outcomes = make({"a": STANDARD, "b": -STANDARD}, loadings=table)
    assert (outcomes.components, outcomes.drawn_names, outcomes.names) == (("f",), ("f",), ("a", "b"))
    np.testing.assert_array_equal(outcomes.loadings, [[0.8], [0.5]])
    assert outcomes.drawn_counts([2]) == [1]
    with refused("loadings-of-other-outcomes", "`b`"):
        make({"a": STANDARD}, loadings=table)
    without = make({"a": STANDARD})
    assert (without.components, without.drawn_names, without.drawn_counts(None)) == (None, ("a",), [1])
