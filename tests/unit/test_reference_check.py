"""Public people scored by a bundle have the sums that it holds, and other weights have not."""

import gzip
import re
from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.io.covariates import Covariates
from dpgrs.io.outcomes import Outcomes
from dpgrs.release.constants import reference_sums
from dpgrs.release.pgs_catalog import Constants
from dpgrs.verify import reference_check
from dpgrs.verify.bundle import verify_release
from forged_releases import edit, seal
from refused import refused
from release_data import OUTCOMES, SITES, make_bundle, make_terms

N_PEOPLE = 30


def make_release(folder, monkeypatch, *, rows, sites=SITES):
    """Write a bundle that was measured on public people, and their folder; return both."""
    rng = np.random.default_rng(4)
    alleles = rng.integers(0, 2, (len(SITES), 2 * N_PEOPLE))
    weights = np.round(rng.normal(0, 0.3, (3, len(SITES))), 3)
    copies = alleles if rows == "haplotypes" else alleles[:, 0::2] + alleles[:, 1::2]
    s = weights @ copies
    Y = np.where(rng.random(s.shape) < 0.1, np.nan, s + rng.normal(size=s.shape))
    constants = Constants(np.array([-0.5, 1.0, 3.0]), np.array([-0.25, 0.5, 1.5]))
    if rows == "people":
        constants = Constants(constants.of_person)
    of_row = constants.of_person if rows == "people" else constants.of_haplotype
    mse = np.nanmean((Y - s - of_row[:, np.newaxis]) ** 2, axis=1)
    n_people = np.isfinite(Y).sum(axis=1) * N_PEOPLE // Y.shape[1]
    accuracy = [
        {
            "name": name,
            "value": f"R^2 {1 - a / b:.4f}, mean squared error {a:.4f}",
            "cost": f"none, measured on {n} people of the public reference",
        }
        for name, a, b, n in zip(OUTCOMES, mse, np.nanmean(Y**2, axis=1), n_people, strict=True)
    ]
    bundle = make_bundle(
        folder,
        terms=make_terms(rows=rows, unit="person"),
        weights=weights,
        constants=constants,
        sums=reference_sums(Y, s),
        content={"accuracy": accuracy},
    )
    variant_set = SimpleNamespace(
        variants=sites,
        n_haplotypes=2 * N_PEOPLE,
        has_dosages=False,
        haplotypes=lambda block: pack(alleles[block]),
    )
    monkeypatch.setattr(reference_check, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    public = folder / "public"
    (public / "replicate1").mkdir(parents=True)
    nobody = np.zeros(s.shape[1], dtype=bool)
    Outcomes(OUTCOMES, {len(SITES): Y}, {}, nobody, rows).save(public / "replicate1" / "outcomes.zarr")
    return bundle, public


@pytest.mark.parametrize("rows", ["haplotypes", "people"])
def test_verify_release__scores_the_public_people(tmp_path, monkeypatch, rows):
    bundle, public = make_release(tmp_path, monkeypatch, rows=rows)
    monkeypatch.setattr(reference_check, "VARIANTS_AT_ONCE", 3)
    assert verify_release(bundle)["accuracy"] == "recomputed"
    assert verify_release(bundle, reference=public)["accuracy"] == "scored"
    text = gzip.decompress((bundle / "scores" / "height.txt.gz").read_bytes()).decode()
    weight = re.search(r"\t(-?0\.\d+)$", text, flags=re.M)[1]
    for name in ("scores/height.txt.gz", "plink2/scores_1.tsv.gz"):
        edit(bundle / name, rf"\t{re.escape(weight)}\b", f"\t{weight.partition('.')[0]}.9")
    seal(bundle)
    assert verify_release(bundle)
    with pytest.raises(DpgrsError, match=r"the sums of height must be those of its weights") as caught:
        verify_release(bundle, reference=public)
    assert "\n1 finding. " in str(caught.value)


def test_verify_release__raise_on_people_without_a_site(tmp_path, monkeypatch):
    elsewhere = SITES.assign(position=SITES["position"] + 1)
    bundle, public = make_release(tmp_path, monkeypatch, rows="people", sites=elsewhere)
    with refused("public-sites-missing", "3:20:C:G"):
        verify_release(bundle, reference=public)


def test_verify_release__raise_on_people_of_a_release_that_was_not_measured_on_them(tmp_path):
    with refused("reference-not-measured", "`--reference`", error=UsageError):
        verify_release(make_bundle(tmp_path), reference=tmp_path)


def test_score_people__covariates(tmp_path, monkeypatch):
    _, public = make_release(tmp_path, monkeypatch, rows="people")
    z = np.vstack([np.linspace(-3, 3, N_PEOPLE), np.ones(N_PEOPLE)])
    units = np.rint(z / 3 * 2**12).astype(np.int16)
    own = Covariates(("age", "PC1"), units, np.array([50, 0]), np.array([12, 1]), 3.0, "people")
    own.save(public / "covariates.npz")
    table = tmp_path / "covariate_weights.tsv"
    lines = [f"{name}\tage\t0.5\t50\t12\t3\n{name}\tPC1\t-1\t0\t1\t3\n" for name in "abc"]
    table.write_text("outcome\tcovariate\tweight\tcentre\tscale\tbound\n" + "".join(lines))
    scores = [SimpleNamespace(sites="", numbers="")] * 3
    _, s = reference_check.score_people(scores, table, public)
    np.testing.assert_allclose(s, np.tile(0.5 * 12 * z[0] - z[1], (3, 1)), atol=0.01)
    table.write_text(table.read_text().replace("age", "sex"))
    with refused("public-covariates-missing"):
        reference_check.score_people(scores, table, public)
