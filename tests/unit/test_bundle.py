import gzip
import hashlib
import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import UsageError
from dpgrs.io.tables.outcome_scales import scales_digest
from dpgrs.release.bundle import remove_bundle, write_bundle
from dpgrs.statement.content import PublicInput
from dpgrs.statement.schema import validate
from dpgrs.verify.bundle import verify_release
from refused import refused
from release_choices import CHOSEN, chosen_content
from release_data import (
    CURATION,
    OUTCOMES,
    PROVENANCE,
    SITES,
    as_written,
    make_bundle,
    make_content,
    make_events,
    make_scores,
    make_statement,
    make_terms,
)


def bytes_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_write_bundle__files(tmp_path):
    files = bytes_of(make_bundle(tmp_path, standard_errors=np.ones((3, len(SITES)))))
    stems = ["height", "LDL_HDL_ratio", "groe"]
    assert set(files) == {
        "SHA256SUMS",
        "constants.tsv",
        "plink2/scores_1.tsv.gz",
        "privacy_statement.json",
        "privacy_statement.txt",
        "provenance.json",
        "registry.yaml",
        *(f"scores/{stem}.txt.gz" for stem in stems),
        *(f"standard_errors/{stem}.tsv.gz" for stem in stems),
    }
    sums = dict(line.split("  ")[::-1] for line in files["SHA256SUMS"].decode().splitlines())
    assert sums == {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "SHA256SUMS"
    }


def test_write_bundle__statement_lists_files_and_scores(tmp_path):
    folder = make_bundle(tmp_path)
    statement = json.loads((folder / "privacy_statement.json").read_text())
    validate(statement)
    files = bytes_of(folder)
    assert statement["files"] == {
        name: hashlib.sha256(data).hexdigest()
        for name, data in files.items()
        if name not in ("SHA256SUMS", "privacy_statement.json")
    }
    assert [score["outcome"] for score in statement["scores"]] == list(OUTCOMES)
    for score in statement["scores"]:
        assert score["standard_errors"] is None
        assert score["file"] in files
    assert not (folder / "standard_errors").exists()


def test_write_bundle__replay_gives_the_same_bytes(tmp_path):
    scores = make_scores()
    statement = make_statement(tmp_path)
    elsewhere = PROVENANCE | {"host": "another", "finished": "2030-01-01", "command": "x", "study": "y"}
    for name, provenance in (("a", PROVENANCE), ("b", elsewhere)):
        write_bundle(tmp_path / name, scores=scores, statement=statement, provenance=provenance)
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")


def test_write_bundle__constants_of_outcomes(tmp_path):
    folder = tmp_path / "release"
    index = pd.Index(make_scores().outcomes, name="outcome")
    scales = pd.DataFrame(
        {
            "centre": 170.25,
            "scale": 10.0,
            "is_binary": False,
            "origin": "a survey",
            "population_prevalence": np.nan,
        },
        index=index,
    )
    of_table = PublicInput("centre and scale of the outcomes", scales_digest(scales), "a survey")
    inputs = as_written([*make_content(tmp_path).public_inputs, of_table])
    (tmp_path / "study").mkdir()
    statement = make_statement(tmp_path / "study", public_inputs=inputs)
    written = write_bundle(
        folder, scores=make_scores(), statement=statement, provenance=PROVENANCE, scales=scales
    )
    assert "outcome_scales.tsv" in written["files"]
    lines = (folder / "outcome_scales.tsv").read_text().splitlines()
    assert lines[0].split("\t") == ["outcome", "centre", "scale", "is_binary", "origin"]
    assert lines[1].split("\t") == [index[0], "170.25", "10", "False", "a survey"]
    assert len(lines) == 1 + len(index)
    assert verify_release(folder)
    remove_bundle(folder)
    assert not folder.exists()


def test_write_bundle__without_a_citation(tmp_path):
    folder = make_bundle(tmp_path, content={"curation": replace(CURATION, citation="")})
    text = gzip.decompress((folder / "scores" / "height.txt.gz").read_bytes()).decode()
    assert "\n#citation=NR\n" in text
    assert verify_release(folder)


def test_write_bundle__nothing_of_the_machine(tmp_path):
    files = bytes_of(make_bundle(tmp_path))
    text = b"".join(gzip.decompress(data) if name.endswith(".gz") else data for name, data in files.items())
    for secret in ("secret-host", "/home/someone", "snakemake", "2026-11-21T10", str(tmp_path)):
        assert secret.encode() not in text


def test_write_bundle__raise_on_benchmark_scores(tmp_path):
    with refused("release-with-public-noise"):
        make_bundle(tmp_path, source="benchmark")
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"source": "benchmark"}, "release-with-public-noise"),
        ({"request": None}, "draw-not-charged"),
    ],
)
def test_write_bundle__raise_on_event(tmp_path, change, code):
    statement = make_statement(tmp_path)
    for mechanism in statement["mechanisms"][1:]:
        mechanism |= change
    with refused(code):
        write_bundle(tmp_path / "release", scores=make_scores(), statement=statement, provenance=PROVENANCE)
    assert not (tmp_path / "release").exists()


def test_build_statement__raise_on_benchmark_event(tmp_path):
    events = [
        event.as_dict() | {"request": "a" * 64} for event in make_events(make_terms(), source="benchmark")
    ]
    with refused("statement-invalid", error=UsageError):
        make_statement(tmp_path, events=tuple(events))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"outcomes": OUTCOMES[::-1]}, "the outcomes"),
        ({"genome_build": "GRCh37"}, "the genome build"),
        ({"sites": SITES.assign(position=SITES["position"] + 1)}, "the site list"),
        ({"sites": SITES[1:], "weights": np.ones((3, 7))}, "the number of variants"),
        ({"terms": make_terms(epsilon=0.5)}, "`epsilon`"),
        ({"terms": make_terms(unit="person")}, "`unit`"),
    ],
)
def test_write_bundle__raise_on_statement_of_another_release(tmp_path, changed, message):
    with pytest.raises(UsageError, match=message):
        write_bundle(
            tmp_path / "release",
            scores=make_scores(**changed),
            statement=make_statement(tmp_path),
            provenance=PROVENANCE,
        )
    assert not (tmp_path / "release").exists()


def test_write_bundle__failure_leaves_nothing(tmp_path):
    provenance = {name: value for name, value in PROVENANCE.items() if name != "code_digest"}
    statement = make_statement(tmp_path)
    with pytest.raises(KeyError):
        write_bundle(tmp_path / "release", scores=make_scores(), statement=statement, provenance=provenance)
    assert not list(tmp_path.glob("*release*"))


def test_write_bundle__a_full_folder_is_left_alone(tmp_path):
    folder = make_bundle(tmp_path)
    with refused("folder-not-empty", error=UsageError):
        write_bundle(folder, scores=make_scores(), statement=_statement_of(folder), provenance=PROVENANCE)
    shutil.rmtree(folder)


def _statement_of(folder):
    return json.loads((folder / "privacy_statement.json").read_text())


def test_remove_bundle__makes_place_for_a_new_one(tmp_path):
    folder = make_bundle(tmp_path)
    (folder / "SHA256SUMS").unlink()  # as Snakemake does before it runs a rule again
    remove_bundle(folder)
    assert not folder.exists()
    remove_bundle(folder)


def test_remove_bundle__raise_on_a_folder_of_the_user(tmp_path):
    folder = make_bundle(tmp_path)
    (folder / "notes.txt").write_text("mine")
    with refused("foreign-file-in-folder", "notes.txt", error=UsageError):
        remove_bundle(folder)
    assert (folder / "scores").is_dir()


@pytest.mark.parametrize("changed", [{"n_choices": 2}, {"entries": 7}, {"outcome": "größe"}], ids=str)
def test_write_bundle__raise_on_variants_that_no_mechanism_chose(tmp_path, changed):
    weights = np.zeros((3, len(SITES)))
    terms, content = chosen_content()
    statement = make_statement(tmp_path, terms, **content)
    statement["mechanisms"][1] |= changed
    scores = make_scores(weights=weights, chosen=CHOSEN, terms=terms)
    with refused("scores-differ-from-statement", error=UsageError):
        write_bundle(tmp_path / "release", scores=scores, statement=statement, provenance=PROVENANCE)
