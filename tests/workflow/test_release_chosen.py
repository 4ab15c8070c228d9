"""Releases from rows, of variants chosen in private or of all, through the whole workflow."""

import gzip
import json

import pytest

from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.ledger.verify import verify_ledger
from dpgrs.verify.bundle import verify_release
from release_studies import CURATION, SHORT_RELEASE, bundle, copied_site, shared_site
from study_runs import figures_reported, run

K = 5
CHOSEN = SHORT_RELEASE | {
    "study": "chosen",
    "methods": "k-blup",
    "screening": {"size": K, "share": 0.3},
    "release": CURATION | {"audit_draws": 100},
}

pytestmark = pytest.mark.release


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    # No more than this release, to the last bit.
    budget = {"epsilon": "2", "pure_epsilon": "0.6"}
    with shared_site(tmp_path_factory, CHOSEN, people=200, **budget) as folder:
        yield folder


def sites_of(files):
    """Return the (chromosome, position) of every scoring file's variants, and their weights."""
    found = []
    for name in sorted(files):
        if name.startswith("scores/"):
            lines = gzip.decompress(files[name]).decode().splitlines()
            head, *rows = [line.split("\t") for line in lines if not line.startswith("#")]
            place = [head.index(column) for column in ("chr_name", "chr_position", "effect_weight")]
            found.append([tuple(row[column] for column in place) for row in rows])
    return found


def test_release_of_chosen__report_of_snakemake_holds_the_figures_of_the_pages(site, tmp_path):
    reported = figures_reported(site, CHOSEN, tmp_path / "report.html")
    names = [f"outcome_000{number}_weights.svg" for number in (1, 2, 3)]
    assert {category: sorted(figures) for category, figures in reported.items()} == {
        "Outcomes": names,
        "Privacy": ["statement.txt"],
        "chosen": ["metrics.tsv"],
    }
    assert "weights of k-blup as released, with epsilon 2" in reported["Outcomes"][names[0]]


def test_release_of_chosen__shows_them_alone_with_their_weights(site):
    files = bundle(site, "chosen")
    report = verify_release(site / "results" / "chosen" / "release")
    assert report["n_variants"] == 20
    scores = sites_of(files)
    assert [len(score) for score in scores] == [K] * 3
    assert all(len({site[:2] for site in score}) == K for score in scores)
    assert all(float(weight) for score in scores for *_, weight in score)
    statement = json.loads(files["privacy_statement.json"])
    assert [score["n_variants"] for score in statement["scores"]] == [K] * 3
    drawn = [(one["statistic"], one["mechanism"], one["outcome"]) for one in statement["mechanisms"]]
    choices = [outcome for statistic, family, outcome in drawn if family == "choice"]
    assert choices == ["simulated_0001", "simulated_0002", "simulated_0003"]
    assert statement["guarantee"]["epsilon"] == "2"
    assert float(statement["guarantee"]["pure_epsilon"]) == pytest.approx(0.6, rel=1e-9)
    audited = {one["mechanism"] for one in statement["audit"]["mechanisms"]}
    assert {"private_kendall", "private_gram", "private_cross_product", "private_count"} <= audited


def test_release_of_chosen__is_charged_to_both_counters_and_uses_them_up(site):
    book = Ledger(site / "ledger.jsonl").read()
    (account,) = book.budgets
    spent, limit = book.spent(account), book.budgets[account].limit
    assert spent.is_within(limit)
    assert float(spent.pure_epsilon) == pytest.approx(0.6, rel=1e-9)
    assert float(spent.mu_squared) == pytest.approx(float(limit.mu_squared), rel=1e-9)
    assert set(book.outputs) == set(book.requests)
    assert verify_ledger(site / "ledger.jsonl")["completed"] == 4


def test_release_of_chosen__pages_show_the_chosen_alone(site):
    report = site / "results" / "chosen" / "report"
    (page,) = report.rglob("outcome_0001.html")
    text, ((*_,), *_) = page.read_text(), sites_of(bundle(site, "chosen"))
    for _, position, _ in sites_of(bundle(site, "chosen"))[0]:
        assert f"{int(position):,}" in text
    assert "tau" not in text
    # Exact scores are nowhere but among what is private.
    assert not list((site / "results" / "chosen").glob("*choices*"))


@pytest.mark.nightly
def test_release_of_chosen__replayed_from_nothing(site, tmp_path):
    copy = copied_site(site, tmp_path / "copy")
    ledger = (copy / "ledger.jsonl").read_bytes()
    run(copy, CHOSEN)
    assert bundle(copy, "chosen") == bundle(site, "chosen")
    assert (copy / "ledger.jsonl").read_bytes() == ledger


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"screening": {"size": 4, "share": 0.3}}, "does not allow this release"),
        ({"screening": {"size": K, "share": 0.2}}, "does not allow this release"),
        ({"screening": {"size": K, "share": 0.3, "law": "gumbel"}}, "`screening.law` must be"),
    ],
)
def test_release_of_chosen__other_choices_are_another_release(site, tmp_path, change, message):
    copy = copied_site(site, tmp_path / "copy")
    ledger = (copy / "ledger.jsonl").read_bytes()
    done = run(copy, CHOSEN | change, check=False)
    assert done.returncode
    assert message in done.stdout
    assert (copy / "ledger.jsonl").read_bytes() == ledger
