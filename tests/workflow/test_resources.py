"""Memory and run time that jobs ask for, held against what they took."""

import pytest

from job_resources import asked_and_used, require_enough
from nightly import at_night
from release_studies import RELEASE, bundle, shared_site
from study_runs import SMALL, run

# One method for each thing that draws, but for the slow ones on rows.
MIDDLE = {
    "study": "middle",
    "cohort": {"chromosomes": ["22"], "simulation": {"people": 1000, "length": 300_000}},
    "variants": {"size": [20, 150]},
    "outcomes": {"count": [1, 30]},
    "privacy": {"protection": "full", "epsilon": [1], "bounds": "tight"},
    "methods": ["ols", "ridge", "reusecov-gauss", "blup-ld", "adassp", "dp-sgd", "k-ols", "s-blup"],
    "replicates": 1,
}


# A target of its own, that a study alone does not make.
BOTH = ("all", "score")


def scoring(settings, target, **options):
    return settings | {"score": {"target": target} | options}


@pytest.mark.workflow
@pytest.mark.parametrize("settings", [SMALL, at_night(MIDDLE)], ids=["small", "middle"])
def test_jobs__ask_for_what_they_take(tmp_path, settings):
    run(tmp_path, settings, is_warm=False)
    settings = scoring(settings, "results/*/private/cohort/*.vcf.gz", weights_of="ols")
    run(tmp_path, settings, *BOTH, is_warm=False)
    table = asked_and_used(tmp_path, settings, *BOTH)
    assert {"make_variants", "compute_statistics/1", "fit_weights/1", "render_report"} <= set(table["job"])
    assert {"write_scores", "score"} <= set(table["job"])
    require_enough(table)


@pytest.mark.release
def test_release__jobs_ask_for_what_they_take_and_note_it_in_private(tmp_path_factory):
    # As in test_release.py, which shares it.
    with shared_site(tmp_path_factory, RELEASE, people=200, is_measured=True) as site:
        settings = scoring(RELEASE, "cohort/{chrom}.vcf.gz")
        run(site, settings, *BOTH, is_warm=False)
        table = asked_and_used(site, settings, *BOTH)
        own = {"draw/1.reusecov-statistics", "ingest_reference/21", "measure_release", "score"}
        assert own <= set(table["job"])
        require_enough(table)
        noted = [path for path in site.rglob("*.tsv") if b"max_rss" in path.read_bytes()]
        assert len(noted) == len(table)
        assert all("private" in path.parts for path in noted)
        assert not any(b"max_rss" in content for content in bundle(site, "release").values())
