"""`dpgrs score --reference`: the same variants on both sides, components, and scores beside the panel's."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.ingest import ingest_chromosome
from dpgrs.linalg.principal_components import project, reference_loadings
from dpgrs.linalg.statistics import coded_rows
from dpgrs.scoring import reference as references
from score_targets import copy_sums_by_hand, make_score, make_target, sums_by_hand, write_score, write_target

N, N_THERE, N_RECORDS = 40, 80, 280


@pytest.fixture
def study(tmp_path):
    """A target without the last 20 records and a reference without the first 20, and a score of all."""
    rng = np.random.default_rng(4)
    records = make_target(rng, n_people=N + N_THERE, n_records=N_RECORDS, contigs=("1",), missing=0.01)
    here = [(*one[:3], one[3][:N]) for one in records]
    there = [(*one[:3], one[3][N:]) for one in records]
    write_target(tmp_path / "here.vcf.gz", here[:-20], contigs=["1"])
    write_target(tmp_path / "there.vcf.gz", there[20:], contigs=["1"])
    rows = make_score(rng, records)
    write_score(tmp_path / "y.txt", records, rows)
    return here, there, rows


def run(folder, *options, target="here.vcf.gz", reference="there.vcf.gz", name="out"):
    """Score a target beside a reference by `dpgrs score`."""
    arguments = [folder / target, "--score", folder / "y.txt", "--output", folder / name]
    arguments += ["--reference", folder / reference, *options]
    return CliRunner().invoke(main, ["score", *map(str, arguments)])


def scored(folder, *, name="out", **files):
    """Return tables of the target and of the reference."""
    result = run(folder, "--components", 2, name=name, **files)
    assert result.exit_code == 0, result.output
    tables = [f"{table}.tsv.gz" for table in ("scores", "reference")]
    return [pd.read_csv(folder / name / table, sep="\t", index_col="sample") for table in tables]


def test_reference__has_the_same_variants(tmp_path, study):
    here, there, rows = study
    ours, theirs = scored(tmp_path)
    common = rows[20:-20]
    frequency = np.zeros((N_RECORDS, 3))
    for place, (_, _, alleles, calls) in enumerate(there):
        known = calls[calls >= 0]
        frequency[place, : len(alleles)] = [(known == allele).mean() for allele in range(len(alleles))]
    # Of REF among several ALTs missing calls are filled by the target's own frequencies.
    of_ref = [row for row in common if len(here[row[0]][2]) > 2 and row[1] == 0]
    others = [row for row in common if row not in of_ref]
    by_hand = sums_by_hand(here, others, frequency=frequency) + sums_by_hand(here, of_ref)
    np.testing.assert_allclose(ours["y.sum"], by_hand, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(theirs["y.sum"], sums_by_hand(there, common), rtol=1e-10, atol=1e-10)
    match = pd.read_csv(tmp_path / "out" / "match.tsv.gz", sep="\t")["status"]
    assert (match[:20] == "not in the reference").all()
    assert (match[-20:] == "not in the target").all()
    raw = theirs["y.sum"]
    np.testing.assert_allclose(theirs["y.Z"], (raw - raw.mean()) / raw.std(ddof=0), atol=1e-9)
    np.testing.assert_allclose(ours["y.Z"], (ours["y.sum"] - raw.mean()) / raw.std(ddof=0), atol=1e-9)
    assert abs(theirs["y.Z_norm1"].std(ddof=0) - 1) < 1e-9
    counts = json.loads((tmp_path / "out" / "summary.json").read_text())["counts"]
    assert counts["reference_people"] == N_THERE
    assert counts["component_variants"] >= 50


def test_reference__that_is_the_target_gives_its_own(tmp_path, study):
    ours, theirs = scored(tmp_path, target="there.vcf.gz")
    pd.testing.assert_frame_equal(ours[theirs.columns], theirs, rtol=1e-9, atol=1e-9)


def test_reference__counts_recessive_weights_on_both_sides(tmp_path, study):
    _, there, rows = study
    names, *lines = (tmp_path / "y.txt").read_text().splitlines()
    text = [f"{names}\teffect_type", *(f"{line}\trecessive" for line in lines)]
    (tmp_path / "y.txt").write_text("\n".join(text) + "\n")
    ours, theirs = scored(tmp_path, target="there.vcf.gz")
    tables = [(0, 0, weight) for *_, weight in rows[20:]]
    by_hand = copy_sums_by_hand(there, rows[20:], tables)
    np.testing.assert_allclose(theirs["y.sum"], by_hand, rtol=1e-10, atol=1e-10)
    pd.testing.assert_frame_equal(ours[theirs.columns], theirs, rtol=1e-9, atol=1e-9)


def test_reference__components_are_those_of_the_code_that_stands(tmp_path, study, monkeypatch):
    """Without missing calls, by `project` on bits."""
    rng = np.random.default_rng(6)
    records = make_target(rng, n_people=N_THERE, n_records=N_RECORDS, contigs=("1",))
    write_target(tmp_path / "there.vcf.gz", records, contigs=["1"])
    write_score(tmp_path / "y.txt", records, make_score(rng, records))
    taken = []
    found = references.found_components

    def noted(candidates, is_found):
        rows = found(candidates, is_found)
        taken.append([(candidates.position[row], candidates.effect_allele[row]) for row in rows])
        return rows

    monkeypatch.setattr(references, "found_components", noted)
    monkeypatch.setattr("dpgrs.scoring.apply.found_components", noted)
    ours, _ = scored(tmp_path, target="there.vcf.gz")
    ingest_chromosome(tmp_path / "there.vcf.gz", chromosome="1", store=tmp_path / "s.zarr", phased="any")
    store = HaplotypeStore.open(tmp_path / "s.zarr")
    places = list(zip(store.variants["position"], store.variants["alt"], strict=True))
    bits = store.haplotypes(np.array([places.index(one) for one in taken[0]]))
    terms = {"n_haplotypes": store.n_haplotypes, "rows": "people"}
    X = coded_rows(bits, **terms)
    frequency = (X.mean(axis=0) + 1) / 2
    loadings = reference_loadings(X, frequency, n_components=2, rows="people")
    wanted = project(bits, loadings, means=2 * frequency - 1, **terms)
    np.testing.assert_allclose(ours[["PC1", "PC2"]].to_numpy().T, wanted, atol=1e-6)


def test_reference__may_be_a_store(tmp_path, study):
    ingest_chromosome(tmp_path / "there.vcf.gz", chromosome="1", store=tmp_path / "s.zarr", phased="any")
    for one, other in zip(scored(tmp_path), scored(tmp_path, reference="s.zarr", name="other"), strict=True):
        pd.testing.assert_frame_equal(one, other, rtol=1e-9, atol=1e-9)


def test_reference__looks_for_variants_alone(tmp_path, study):
    assert run(tmp_path, "--match-only").exit_code == 0
    match = pd.read_csv(tmp_path / "out" / "match.tsv.gz", sep="\t")["status"]
    assert (match == "not in the reference").sum() == 20


def test_reference__raise_on_few_variants(tmp_path, study):
    _, there, _ = study
    write_target(tmp_path / "there.vcf.gz", there[:100], contigs=["1"])
    result = run(tmp_path)
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert "`--reference` must hold at least 50 common variants of two letters, got" in result.output
    assert not (tmp_path / "out").exists()
