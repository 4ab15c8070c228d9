"""By which public settings a ledger knows the data of a release again."""

from pathlib import Path

from dpgrs.io.replicates import load_labelled
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.study.identity import public_identity
from dpgrs.study.release_cost import certain_cost
from dpgrs.study.settings import resolve
from refused import refused
from step_studies import NAMES, Study


def test_public_identity__holds_what_defines_the_data_and_no_path():
    settings = {"cohort": {"source": "vcf", "vcf": "secret/place/{chrom}.vcf"}, "seed": 3}
    dataset = {"accession": "a", "consent": "c", "version": "v"}
    identity = public_identity(resolve(settings | {"dataset": dataset}))
    assert identity["dataset"] == {"accession": "a", "consent": "c", "dataset_version": "v"}
    assert "secret" not in str(identity)
    changes = [
        {"seed": 4},
        {"outcomes": {"test_share": 0.1}},
        {"cohort": settings["cohort"] | {"keep_filtered": True}},
        {"cohort": {"source": "plink", "plink": "secret/place/{chrom}"}},
        {"cohort": {"source": "plink", "plink": "secret/place/{chrom}", "fixed_sites": True}},
        {"people": {"keep": "secret/a.txt"}},
        {"people": {"related": "secret/a.txt"}},
        {"people": {"consent": {"file": "secret/a.tsv", "allow": [1]}}},
        {"people": {"consent": {"file": "secret/a.tsv", "allow": [1, 2]}}},
    ]
    others = [public_identity(resolve(settings | {"dataset": dataset} | change)) for change in changes]
    assert identity not in others
    assert len({str(other) for other in others}) == len(others)
    assert "secret" not in str(others)
    renamed = settings | {"dataset": dataset, "study": "other", "replicates": 9}
    assert public_identity(resolve(renamed)) == identity


def test_public_identity__hangs_on_the_constants_of_outcomes_and_not_on_their_origin(tmp_path):
    path = tmp_path / "scales.tsv"

    def identity(text):
        path.write_text(f"outcome\tcentre\tscale\torigin\tprevalence\n{text}")
        outcomes = {"source": "file", "file": "y.tsv", "scales": str(path)}
        return public_identity(resolve({"outcomes": outcomes}))["outcomes"]

    first = identity("a\t0.2\t0.4\tsurvey\t\n")
    assert first == identity("a\t0.2\t0.4\t\t\n")
    assert first != identity("a\t0.2\t0.5\tsurvey\t\n")
    # The same constants; but fits take it as a 0/1 outcome, and other weights follow.
    assert first != identity("a\t\t\tsurvey\t0.2\n")


def test_public_identity__of_simulated_outcomes_names_what_they_are_drawn_by():
    drawn = [{}, {"factors": 2}, {"factors": 3}, {"prevalence": 0.1}, {"prevalence": 0.2}]
    drawn += [{"network": 2}, {"network": 3}]
    found = [public_identity(resolve({"outcomes": terms}))["outcomes"] for terms in drawn]
    # As before these keys were there, where they are not used.
    assert found[0].keys() == {"source", "heritability", "causal_share"}
    assert len(set(map(str, found))) == len(found)


def test_release__a_choice_of_people_is_another_release_though_nobody_was_left_out(tmp_path, monkeypatch):
    """Equal noise would show that the lists left out nobody who counts."""
    study = Study(tmp_path, monkeypatch)
    config, chosen = (study.settings("reusecov-gauss", bounds="tight") for _ in range(2))
    chosen = chosen.changed(people={"remove": "removed.txt"})
    noisy = study.release(config)
    ((_, everybody),) = load_labelled(noisy)
    with refused("statistics-terms-differ"):
        study.bundle(chosen, noisy)
    assert certain_cost(chosen, study.ledger(config).read()).mu_squared > 0
    ((label, others),) = load_labelled(study.release(chosen))
    book = study.ledger(config).read()
    assert len(book.requests) == 4
    assert all(book.requests[one].identity["people"] == {"remove": True} for _, one in label["requests"])
    assert all((everybody[name] != others[name]).any() for name in ("gram", "cross"))
    study.bundle(chosen, noisy)
    assert certain_cost(chosen, book) == Cost(0, 0)
    with refused("statistics-terms-differ"):
        study.bundle(config, noisy)


def test_release__simulated_0_1_outcomes_have_public_constants(tmp_path, monkeypatch):
    study = Study(tmp_path, monkeypatch)
    config = study.settings("blup", bounds="tight")
    config = config.changed(outcomes={"prevalence": 0.2})
    files = study.bundle(config, study.release(config))
    said = {one["name"]: one["value"] for one in study.statement()["public_inputs"]}
    assert said["prevalence of the outcomes"] == "0.2"
    lines = files[Path("outcome_scales.tsv")].decode().splitlines()[1:]
    assert [line.split("\t") for line in lines] == [
        [name, "0.2", "0.4", "True", "simulated"] for name in NAMES
    ]
