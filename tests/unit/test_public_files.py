"""Files of public effects: their columns, their alleles, and what a study makes of them."""

import gzip
import json
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.known_positions import SNPS
from dpgrs.io.public_effects import describe_counts, match_effects
from dpgrs.io.replicates import load_labelled
from dpgrs.io.scoring_files import open_effects
from dpgrs.io.sites import write_sites
from dpgrs.preflight.checks import problems
from dpgrs.release.bundle_room import require_same_release
from dpgrs.steps import match_effects as step
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.study.fit_identity import effects_identity
from dpgrs.study.public_files import load_effects, save_effects
from dpgrs.study.settings import resolve
from effects_files import write_score, write_statistics
from refused import refused
from step_settings import settings_for
from step_studies import N_VARIANTS, NAMES, Study

SITES = pd.DataFrame(
    {
        "contig": ["chr1", "chr1", "chr1", "2"],
        "position": [10, 20, 30, 10],
        "ref": ["A", "C", "A", "G"],
        "alt": ["G", "A", "T", "T"],
    }
)
COLUMNS = "chr_name\tchr_position\teffect_allele\tother_allele\teffect_weight\n"


def matched(path, text, *, build=None):
    path.write_text(text)
    return match_effects(open_effects(path, build=build), SITES)


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ("1\t10\tG\tA\t0.5", 0.5),
        ("1\t10\tA\tG\t0.5", -0.5),
        ("chr1\t10\tg\ta\t0.5", 0.5),
        # The other strand.
        ("1\t10\tC\tT\t0.5", 0.5),
        ("1\t10\tT\tC\t0.5", -0.5),
        # A single allele.
        ("1\t10\tG\t\t0.5", 0.5),
        ("1\t10\tA\t\t0.5", -0.5),
        ("1\t10\tC\t\t0.5", None),
        # Other alleles, and no number.
        ("1\t10\tG\tC\t0.5", None),
        ("1\t10\tG\tA\tNA", None),
        ("1\t10\tG\tG\t0.5", None),
        # The same on both strands.
        ("1\t30\tT\tA\t0.5", None),
    ],
)
def test_match_effects__turns_effects_to_alt(tmp_path, row, value):
    values, counts = matched(tmp_path / "a.txt", f"{COLUMNS}2\t10\tT\tG\t2\n{row}\n9\t10\tA\tC\t1\n")
    assert values.tolist() == [value or 0.0, 0.0, 0.0, 2.0]
    assert counts["matched"] == (1 if value is None else 2)


def test_match_effects__leaves_out_what_is_listed_twice_and_what_does_not_add_up(tmp_path):
    text = COLUMNS.replace("\n", "\tis_dominant\n") + "".join(
        f"{row}\n"
        for row in (
            "1\t10\tG\tA\t1\tFalse",
            "1\t10\tA\tG\t1\tFalse",
            "1\t20\tA\tC\t3\t",
            "2\t10\tT\tG\t5\tTrue",
            "1\t\tT\tG\t5\tFalse",
        )
    )
    values, counts = matched(tmp_path / "a.txt", text)
    assert values.tolist() == [0.0, 3.0, 0.0, 0.0]
    words = "1 of 4 variants matched (left out: 1 not additive, 1 repeated)"
    assert describe_counts(counts, 4) == words


@pytest.mark.parametrize("kind", ["dominant", "recessive", "nonadditive"])
def test_match_effects__takes_no_other_effect_type_as_additive(tmp_path, kind):
    names = COLUMNS.replace("\n", "\teffect_type\tdosage_0_weight\tdosage_1_weight\tdosage_2_weight\n")
    weights = "0\t1\t5" if kind == "nonadditive" else "\t\t"
    rows = f"1\t10\tG\tA\t1\t{kind}\t{weights}\n1\t20\tA\tC\t3\tadditive\t\t\t\n"
    values, counts = matched(tmp_path / "a.txt", names + rows)
    assert values.tolist() == [0.0, 3.0, 0.0, 0.0]
    assert counts["not additive"] == 1


@pytest.mark.parametrize("name", ["odds_ratio", "OR", "hazard_ratio"])
def test_match_effects__takes_logarithms_of_ratios(tmp_path, name):
    header = f"chromosome\tbase_pair_location\teffect_allele\tother_allele\tbeta\t{name}\n"
    rows = "1\t10\tG\tA\tNA\t2\n1\t20\tA\tC\t0.25\t9\n2\t10\tT\tG\t\t0\n"
    values, counts = matched(tmp_path / "a.tsv", header + rows)
    assert values.tolist() == [math.log(2), 0.25, 0.0, 0.0]
    assert (counts["matched"], counts["without effect"]) == (2, 1)
    assert open_effects(tmp_path / "a.tsv", build=None).is_marginal


def test_open_effects__knows_a_score_by_its_weights(tmp_path):
    write_score(tmp_path / "a.txt.gz", SITES, [1, 2, 3, 4])
    write_statistics(tmp_path / "a.tsv", SITES, [1, 2, 3, 4])
    score, statistics = (open_effects(tmp_path / name, build="GRCh38") for name in ("a.txt.gz", "a.tsv"))
    assert (score.is_marginal, statistics.is_marginal) == (False, True)
    for file in (score, statistics):
        assert match_effects(file, SITES)[0].tolist() == [1, 2, 0, 4]


def test_open_effects__takes_the_harmonised_places_of_the_build(tmp_path):
    remarks = "###PGS\n#genome_build=GRCh37\n#HmPOS_build=GRCh38\n"
    header = "chr_name\tchr_position\teffect_allele\tother_allele\teffect_weight\thm_chr\thm_pos\n"
    path = tmp_path / "a.txt"
    path.write_text(f"{remarks}{header}1\t20\tG\tA\t7\t1\t10\n")
    assert match_effects(open_effects(path, build="GRCh38"), SITES)[0].tolist() == [7, 0, 0, 0]
    swapped = f"{remarks}{header}1\t10\tG\tA\t7\t1\t20\n"
    path.write_text(swapped)
    assert match_effects(open_effects(path, build="GRCh37"), SITES)[0].tolist() == [7, 0, 0, 0]
    path.write_text(swapped.replace("GRCh38", "NR"))
    with refused("stated-build-differs", "got GRCh37"):
        open_effects(path, build="GRCh38")
    assert open_effects(path, build=None).columns["position"] == 1


@pytest.mark.parametrize(("stated", "is_fine"), [("hg38", True), ("NR", True), ("", True), ("hg18", False)])
def test_open_effects__knows_other_names_of_builds(tmp_path, stated, is_fine):
    write_score(tmp_path / "a.txt", SITES, [1, 2, 3, 4], build=stated)
    if is_fine:
        assert open_effects(tmp_path / "a.txt", build="GRCh38").build == "GRCh38"
    else:
        with refused("stated-build-differs", stated):
            open_effects(tmp_path / "a.txt", build="GRCh38")


def test_match_effects__raise_on_known_places_of_another_build(tmp_path):
    lines = [f"{name}\t{chromosome}\t{at37}\tG\tA\t1\n" for name, chromosome, _, at37, _ in SNPS[:3]]
    text = f"rsID\t{COLUMNS}" + "".join(lines) + ".\t1\t10\tG\tA\t1\n"
    assert matched(tmp_path / "a.txt", text, build="GRCh37")[1]["matched"] == 1
    with refused("genome-build-differs"):
        matched(tmp_path / "a.txt", text, build="GRCh38")


def test_match_effects__raise_on_nothing_in_common(tmp_path):
    with refused("effects-of-other-variants"):
        matched(tmp_path / "a.txt", f"{COLUMNS}7\t10\tG\tA\t1\n")


@pytest.mark.parametrize(
    ("header", "lacking"),
    [
        ("chr_name\tchr_position\teffect_allele\n", "effect_weight, beta or odds_ratio"),
        ("rsID\teffect_allele\teffect_weight\n", "chr_name, chr_position"),
        ("chr_name\tchr_position\teffect_weight\n", "effect_allele"),
    ],
)
def test_open_effects__raise_on_missing_columns(tmp_path, header, lacking):
    (tmp_path / "a.txt").write_text(header)
    with refused("effect-columns-missing", lacking):
        open_effects(tmp_path / "a.txt", build=None)


def test_open_effects__raise_on_damaged_files(tmp_path):
    whole = gzip.compress(b"#genome_build=GRCh38\n" + COLUMNS.encode() * 50)
    (tmp_path / "a.txt.gz").write_bytes(whole[: len(whole) // 2])
    for name in ("a.txt.gz", "absent.txt"):
        with pytest.raises(DpgrsError, match=f"{name}` must be"):
            open_effects(tmp_path / name, build="GRCh38")


def sized(rank):
    return SITES.assign(id=".", frequency=0.3, rank=rank)


def test_match_effects_step__is_of_every_variant_set_size(tmp_path, monkeypatch):
    write_score(tmp_path / "a.txt.gz", SITES, [1, 2, 3, 4])
    write_statistics(tmp_path / "b.tsv", SITES.iloc[:1], [5])
    write_sites(tmp_path / "sites.tsv", sized([1, 0, 3, 2]))
    settings = settings_for("match-effects", variants={"size": [2, 4]})
    files, output = [tmp_path / "a.txt.gz", tmp_path / "b.tsv"], tmp_path / "effects.npz"
    told = step.match_effects(settings, files, sites=tmp_path / "sites.tsv", output=output)
    assert told["a.txt.gz"] == "3 of 4 variants matched (left out: 1 ambiguous)"
    found, values = load_effects(output)
    assert [one["is_marginal"] for one in found] == [False, True]
    assert {size: one.tolist() for size, one in values.items()} == {
        2: [[1, 2], [5, 0]],
        4: [[1, 2, 0, 4], [5, 0, 0, 0]],
    }
    before = effects_identity(output)
    names = ["a.txt.gz", "b.tsv"]
    assert before == {"effects": [one["digest"] for one in found], "effect_names": names}
    variant_set = SimpleNamespace(variants=SITES, variant_rank=np.array([1, 0, 3, 2]))
    monkeypatch.setattr(step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    step.match_effects(settings, files, variant_set=tmp_path / "variant_set", output=output)
    np.testing.assert_array_equal(load_effects(output)[1][4], values[4])
    assert effects_identity(output) == before
    write_score(tmp_path / "a.txt.gz", SITES, [1, 2, 3, 5])
    step.match_effects(settings, files, variant_set=tmp_path / "variant_set", output=output)
    assert effects_identity(output) != before
    assert effects_identity(None) == {}


@pytest.mark.parametrize(
    ("names", "followed"),
    [
        (["x.txt.gz"], ["x.txt.gz"] * 3),
        (["b.txt.gz"], [None, "b.txt.gz", None]),
        (["x.txt", "a.tsv.gz"], ["a.tsv.gz", "x.txt", "x.txt"]),
        (["a.b.txt"], ["a.b.txt"] * 3),
    ],
)
def test_fit_weights__a_file_named_after_an_outcome_is_for_it_alone(tmp_path, monkeypatch, names, followed):
    study = Study(tmp_path, monkeypatch)
    config = study.settings("blup", bounds="tight")
    noisy = study.release(config)
    values = np.random.default_rng(2).standard_normal((len(names), N_VARIANTS))

    def correlations(values):
        return fit_with_effects(tmp_path, config, noisy, names, values)["correlations"]

    assert [name is not None for name in followed] == (correlations(values) != 0).tolist()
    for number, name in enumerate(names):
        only_its_effects = np.zeros_like(values)
        only_its_effects[number] = values[number]
        assert [one == name for one in followed] == (correlations(only_its_effects) != 0).tolist()
    assert len(followed) == len(NAMES)


def test_effects_identity__a_file_named_after_an_outcome_is_another_fit(tmp_path, monkeypatch):
    study = Study(tmp_path, monkeypatch)
    config = study.settings("blup", bounds="tight")
    noisy, values = study.release(config), np.random.default_rng(2).standard_normal((1, N_VARIANTS))
    identities, fits = [], []
    for name in ("x.txt.gz", "b.txt.gz"):
        fits.append(fit_with_effects(tmp_path, config, noisy, [name], values)["weights"])
        identities.append(effects_identity(tmp_path / "effects.npz"))
    assert not np.array_equal(*fits)
    assert identities[0] != identities[1]
    terms = {"lambda": 0.1, "lambda_from": "fixed"}
    statement = {"method": "blup", "fit": terms | identities[0], "mechanisms": []}
    (tmp_path / "privacy_statement.json").write_text(json.dumps(statement))
    require_same_release(tmp_path, {None}, fit={"method": "blup"} | terms | identities[0])
    for effects in (identities[1], identities[0] | {"effects": ["1"]}, {}):
        with refused("another-release-in-folder"):
            require_same_release(tmp_path, {None}, fit={"method": "blup"} | terms | effects)


def fit_with_effects(folder, config, noisy, names, values):
    """Fit what was released with effects of files of these names; return the arrays of the fit."""
    files = [{"name": name, "digest": "0", "matched": "", "is_marginal": False} for name in names]
    save_effects(folder / "effects.npz", files, {N_VARIANTS: values})
    paths = {"effects": folder / "effects.npz", "output": folder / "weights.npz", "seconds": folder / "s.tsv"}
    fit_weights(settings_for("fit-weights", config), [noisy], **paths)
    ((_, arrays),) = load_labelled(paths["output"])
    return arrays


PRESENT = {"methods": ["ridge", "blup"], "public": {"effects": ["a.txt"]}}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ()),
        ({"methods": ["ridge", "blup-ld"], "privacy": {"bounds": "tight"}}, ()),
        (
            {"methods": ["ridge", "blup-shared"]},
            ("`methods` must name one of blup, blup-ld, blup-genome", "got ridge, blup-shared."),
        ),
        (
            {"privacy": {"protection": ["full", "feature"]}},
            ("`privacy.protection` must be full or label with `public.effects`, got feature.",),
        ),
        (
            {"outcomes": {"loadings": "l.tsv", "count": 2}, "privacy": {"bounds": "tight"}},
            ("`outcomes.loadings` must be null with `public.effects`, got l.tsv.",),
        ),
        (
            {"public": {"effects": ["a.txt", "b.tsv"]}},
            (
                "`public.effects` must hold effect_weight",
                "one variant at a time in b.tsv. Use `methods: blup-ld`",
            ),
        ),
        (
            {"public": {"effects": "c.txt"}},
            ("`public.effects`: `c.txt` must be of the genotypes' genome build, GRCh38, got GRCh37.",),
        ),
        (
            {"public": {"effects": ["phs000001.v1/a.txt"]}},
            ("`public.effects` must be open data in a benchmark", "of phs000001", "Use `mode: release`."),
        ),
        ({"public": {"effects": ["{a}.txt"]}}, ("`public.effects` must be a path without braces, got {a}.",)),
    ],
)
def test_problems__of_public_effects(tmp_path, monkeypatch, changes, words):
    monkeypatch.chdir(tmp_path)
    write_score(tmp_path / "a.txt", SITES, [1, 2, 3, 4])
    write_statistics(tmp_path / "b.tsv", SITES, [1, 2, 3, 4])
    write_score(tmp_path / "c.txt", SITES, [1, 2, 3, 4], build="GRCh37")
    privacy = {"protection": "full"} | changes.get("privacy", {})
    settings = resolve(PRESENT | changes | {"privacy": privacy})
    lines = [line for line in problems(settings) if "is not there" not in line]
    assert [[word in line for word in words] for line in lines] == [[True] * len(words)] * bool(words)
