"""Outcomes of a later release on the same genotypes: X'X is replayed, and X'Y alone is charged."""

import numpy as np
import pytest

from dpgrs.io.replicates import load_labelled
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.verify.bundle import verify_release
from release_studies import RELEASE, copied_site, drawn_file, shared_site
from study_runs import run

pytestmark = pytest.mark.release
# Of three outcomes on 20 variants: docs/explanation/methods.md#accounting.
SHARE = 0.36
LATER = RELEASE | {"study": "later", "outcomes": {"count": 5}}
REPLAYED = LATER | {"privacy": RELEASE["privacy"] | {"gram_share": SHARE}}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with shared_site(tmp_path_factory, RELEASE, people=200, is_measured=True) as folder:
        yield folder


def test_later_outcomes__are_charged_for_their_own_products_alone(site, tmp_path):
    copy = copied_site(site, tmp_path / "copy")
    asked = run(copy, LATER, "--dry-run").stdout
    assert "A whole run would be charged: epsilon 2; so far epsilon 2 of 4 is spent" in asked
    assert "X'X of these genotypes was drawn before, with `privacy.gram_share: 0.36`. Set it" in asked
    assert "are the same: epsilon 1.56 would be charged." in asked
    asked = run(copy, REPLAYED, "--dry-run").stdout
    assert "A whole run would be charged: epsilon 1.56; so far" in asked
    assert "X'X is that of an earlier release, if its sites and `privacy.genotype_clip` are the same" in asked
    assert "Charged: epsilon 1.56; in all epsilon 2.62 of 4 is spent" in run(copy, REPLAYED).stdout

    # Three requests in all: the count and X'X, and two X'Y.
    book = Ledger(copy / "ledger.jsonl").read()
    assert [request.identity["part"][0] for request in book.requests.values()] == [
        "genotypes",
        "outcomes",
        "outcomes",
    ]
    ((first,), (later,)) = (
        [arrays for _, arrays in load_labelled(drawn_file(folder, study))]
        for folder, study in ((site, "release"), (copy, "later"))
    )
    assert np.array_equal(first["gram"], later["gram"])
    assert later["cross"].shape == (5, 20)
    assert verify_release(copy / "results" / "later" / "release")["n_scores"] == 5
