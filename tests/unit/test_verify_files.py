"""Files of a bundle hold what the statement says of them, and no word more."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.release.pgs_catalog import header_text
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.scoring_check import header_value
from forged_releases import STATEMENT, edit, edit_statement, seal
from release_data import SITES, make_bundle

SCORE = "scores/height.txt.gz"
LIE = "##PRIVACY: (0.001, 0)-differential privacy of every person and of relatives"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def release(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "release"))


COMMENTS = "the header must hold the lines of dpgrs, in their order"
FORGED = {
    "a comment": ("^##SOURCE INFORMATION$", f"##SOURCE INFORMATION\n{LIE}", COMMENTS),
    "a comment in place of another": ("^##POLYGENIC.*$", LIE, COMMENTS),
    "a comment left out": ("^##SOURCE INFORMATION\n", "", COMMENTS),
    "more of the first line": (
        "^###PGS.*$",
        r"\g<0>; epsilon is 0.001",
        f"{COMMENTS}, but not at ###PGS CATALOG",
    ),
    "less of the first line": (" for additional information$", "", f"{COMMENTS}, but not at ###PGS CATALOG"),
    "name": ("^#pgs_name=.*$", "#pgs_name=weight", "pgs_name must be height as stated, got weight"),
    "trait": ("^#trait_reported=.*$", "#trait_reported=weight", "trait_reported must be height as stated"),
    "mapped": ("^#trait_mapped=.*$", "#trait_mapped=weight", "trait_mapped must be NR as stated"),
    "ontology": ("^#trait_efo=.*$", "#trait_efo=EFO_1", "trait_efo must be NR as stated"),
    "publication": ("^#pgp_id=.*$", "#pgp_id=PGP1", "pgp_id must be NR as stated"),
    "license": ("^#license=.*$", "#license=public domain", "license must be CC BY 4.0 as stated, got public"),
    "citation": ("^#citation=.*$", "#citation=someone", "citation must be Institute of Tests .2026.. doi"),
}


@pytest.mark.parametrize(("old", "new", "message"), FORGED.values(), ids=FORGED)
def test_verify_release__forged_head_of_a_scoring_file(release, old, new, message):
    edit(release / SCORE, old, new)
    seal(release)
    with pytest.raises(DpgrsError, match=message):
        verify_release(release)


def test_verify_release__files_of_two_outcomes_that_are_swapped(release):
    statement = json.loads((release / STATEMENT).read_text())
    files = [one["file"] for one in statement["scores"]]
    for number, file in enumerate((files[1], files[0])):
        edit_statement(release, ["scores", number, "file"], file)
    table = pd.read_csv(release / "constants.tsv", sep="\t", dtype=str)
    table.loc[:1, table.columns[1:]] = table.loc[[1, 0], table.columns[1:]].to_numpy()
    table.to_csv(release / "constants.tsv", sep="\t", index=False)
    seal(release)
    with pytest.raises(DpgrsError, match="pgs_name must be height as stated, got LDL/HDL : ratio"):
        verify_release(release)


def test_verify_release__standard_errors_of_nothing(tmp_path):
    errors = np.zeros((3, len(SITES)))
    errors[1:, 0] = 0.1
    folder = make_bundle(tmp_path, standard_errors=errors)
    with pytest.raises(DpgrsError, match=r"height\.tsv\.gz: some must be above 0") as caught:
        verify_release(folder)
    assert "1 finding" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", " ", "a = b", "a\tb\r\nc", "a\u2028b\u00a0c", "gr\u00f6\u00dfe", "\x00", "=="]
)
def test_header_value__is_what_a_scoring_file_holds(text):
    assert header_value(text) == header_text(text)
