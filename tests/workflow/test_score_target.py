"""The target `score`: by files of others, with no study of one's own, and by a study's own release."""

import json
import re
import stat

import numpy as np
import pandas as pd
import pytest

from release_studies import RELEASE, bundle, shared_site
from result_files import unlike_the_page
from score_targets import make_score, make_target, sums_by_hand, write_score, write_target
from study_runs import SMALL, figures_reported, results, run

N = 120
SETTINGS = {
    "study": "scored",
    "cohort": {"chromosomes": [1, 2]},
    "score": {
        "target": "genotypes of others/{chrom}.vcf.gz",
        "release": ["y1.txt", "y2.txt"],
        "populations": "people.tsv",
    },
}


@pytest.fixture(scope="module")
def records():
    return make_target(np.random.default_rng(1), n_people=N, n_records=70)


@pytest.fixture(scope="module")
def site(tmp_path_factory, records):
    folder = tmp_path_factory.mktemp("scored")
    (folder / "genotypes of others").mkdir()
    for contig in ("1", "2"):
        own = [one for one in records if one[0] == contig]
        write_target(folder / "genotypes of others" / f"{contig}.vcf.gz", own)
    rng = np.random.default_rng(2)
    for name in ("y1", "y2"):
        write_score(folder / f"{name}.txt", records, make_score(rng, records))
    people = "".join(f"p{number}\t{'AB'[number % 2]}\n" for number in range(N))
    (folder / "people.tsv").write_text(f"sample\tpop\n{people}")
    run(folder, SETTINGS, "score")
    return folder


@pytest.mark.workflow
def test_score_target__scores_people_and_makes_nothing_else(site, records):
    scored = site / "results" / "scored" / "private" / "scored"
    table = pd.read_csv(scored / "scores.tsv.gz", sep="\t", index_col="sample")
    rng = np.random.default_rng(2)
    for name in ("y1", "y2"):
        by_hand = sums_by_hand(records, make_score(rng, records))
        np.testing.assert_allclose(table[f"{name}.sum"], by_hand, rtol=1e-12, atol=1e-12)
    assert "A (60)" in (scored / "report" / "index.html").read_text()
    assert json.loads((scored / "summary.json").read_text())["target"] == ["1.vcf.gz", "2.vcf.gz"]
    assert {name.split("/")[0] for name in results(site, "scored")} == {"private"}
    assert unlike_the_page(site / "results" / "scored") == []
    # Of its log, too, nobody else may learn how many people there are.
    made = [*(site / "results").rglob("*"), site / ".snakemake"]
    assert not [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077]


@pytest.mark.workflow
def test_score_target__runs_again_only_if_something_changed(site):
    assert "Nothing to be done" in run(site, SETTINGS, "score").stdout
    for change in ({"components": 5}, {"release": ["y1.txt"]}):
        changed = SETTINGS | {"score": SETTINGS["score"] | change}
        assert "rule score:" in run(site, changed, "score", "--dry-run").stdout


@pytest.mark.workflow
def test_score_target__figures_are_in_the_report_of_snakemake(site):
    found = figures_reported(site, SETTINGS, site / "report.html", "score")
    assert sorted(found["Scores"]) == ["score0.svg", "score1.svg"]
    assert "As private as they are" in found["Scores"]["score0.svg"]


@pytest.mark.workflow
def test_score_target__of_a_benchmark_writes_scoring_files_of_one_method_first(site):
    target = SMALL | {"score": {"target": "genotypes of others/*.vcf.gz", "weights_of": "blup"}}
    plan = run(site, target, "score", "--dry-run").stdout
    jobs = set(re.findall(r"(?m)^ *(?:local)?rule (\w+):", plan))
    assert {"fit_weights", "write_scores", "score"} <= jobs
    assert jobs.isdisjoint({"evaluate_replicate", "render_report"})


@pytest.mark.workflow
def test_score_target__without_anybody_to_score_says_what_to_name(site):
    process = run(site, {"study": "scored"}, "score", "--dry-run", check=False)
    assert process.returncode == 1
    assert "`score.target` must name genotype files for the target `score`, got none." in process.stdout


@pytest.mark.release
def test_score_target__applies_the_release_of_the_study_and_leaves_it_as_it_is(tmp_path_factory):
    # As in test_release.py, which shares it.
    with shared_site(tmp_path_factory, RELEASE, people=200, is_measured=True) as folder:
        before = bundle(folder, "release"), (folder / "ledger.jsonl").read_bytes()
        target = RELEASE | {"score": {"target": "cohort/{chrom}.vcf.gz"}}
        said = run(folder, target, "score").stdout
        assert "Scores: results/release/private/scored/report/index.html" in said
        assert re.findall(r"(?m)^(?:local)?rule (\w+):", said) == ["score"]
        summary = folder / "results" / "release" / "private" / "scored" / "summary.json"
        scores = json.loads(summary.read_text())["scores"]
        assert [one["used"] for one in scores] == [20] * 3
        assert {one["unit"] for one in scores} == {"standard deviations of the outcome"}
        assert "Nothing to be done" in run(folder, target).stdout
        assert unlike_the_page(folder / "results" / "release") == []
        assert (bundle(folder, "release"), (folder / "ledger.jsonl").read_bytes()) == before
