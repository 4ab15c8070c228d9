"""The experiment that holds methods against each other on parts of public data."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from dpgrs.io.outcomes import simulated_names
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.study.settings import resolve
from frontier_studies import write_study
from study_runs import load_experiment
from vcf_files import record, vcf_text, write_gzip

N_OUTCOMES = 6


@pytest.fixture
def frontier(tmp_path, monkeypatch):
    """Load the script, and work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return load_experiment("frontier")


@pytest.fixture
def data(tmp_path, frontier):
    """Write genotypes of 20 people where the script looks for them, and their populations."""
    people = [f"P{number:02}" for number in range(20)]
    for genotypes in (frontier.REGION, frontier.GENOME):
        path = tmp_path / "data" / genotypes["vcf"].replace("{chrom}", "1")
        path.parent.mkdir(parents=True)
        write_gzip(path, vcf_text(record(5, " ".join(["0|1"] * 20), contig="1"), samples=people, contigs="1"))
    names = ["EUR", "EAS", "AFR", "SAS", "AMR"] * 4
    lines = [
        "sample\tpop\tsuper_pop",
        *(f"{one}\tX\t{name}" for one, name in zip(people, names, strict=True)),
    ]
    (tmp_path / "data" / frontier.POPULATIONS).write_text("\n".join(lines) + "\n")
    return tmp_path / "data"


def test_cases__are_studies_on_people_of_their_own(frontier, data):
    shipped, studies = yaml.safe_load(frontier.CONFIG.read_text()), set()
    for case in frontier.CASES:
        settings = frontier.settings_of(case, data)
        merged = shipped | {
            name: shipped.get(name, {}) | part if isinstance(part, dict) else part
            for name, part in settings.items()
        }
        config = resolve(merged)
        assert config.privacy.bounds == "tight"
        studies.add(config.study)
        if case.cohort is None:
            assert config.people.keep is config.public.reference is None
            assert "blup-ld" not in config.methods
            continue
        lists = [frontier.TABLE.with_name(f"{case.name}-{side}.txt") for side in ("cohort", "reference")]
        assert config.people.keep == str(lists[0])
        assert config.public.keep == str(lists[1])
        sides = [path.read_text().split() for path in lists]
        assert not set(sides[0]) & set(sides[1])
        n_cohort = round(20 * case.cohort) if isinstance(case.cohort, float) else 8
        n_reference = 4 if case.reference else 20 - n_cohort
        assert [len(side) for side in sides] == [n_cohort, min(n_reference, case.people or n_reference)]
    assert len(studies) == len(frontier.CASES)


def test_cases__seeds_divide_the_people_in_other_ways(frontier, data):
    halves = [frontier.sides(frontier.Case("matched", {}, seed), data)[0] for seed in (1, 2, 1)]
    assert halves[0] == halves[2]
    assert set(halves[0]) != set(halves[1])


def test_settings_of__sizes_and_counts_of_the_command_line_come_first(frontier, data):
    case = next(case for case in frontier.CASES if case.group == "factors")
    settings = frontier.settings_of(case, data, sizes=[100], counts=[1, 10])
    assert settings["variants"] == {"size": [100]}
    assert settings["outcomes"] == {"factors": 10, "count": [1, 10]}


@pytest.fixture
def make():
    """What makes a file of a study, which notes what is asked of the workflow and makes outcomes at once."""

    def make(settings, name):
        make.asked.append((settings, name))
        folder = Path("results", settings["study"])
        if name == frontier_outcomes and not folder.exists():
            factors = settings["outcomes"].get("factors")
            write_study(folder, n_outcomes=N_OUTCOMES, n_factors=factors)
        return settings["study"] != make.fails

    frontier_outcomes = "private/replicate1/outcomes.zarr"
    make.asked, make.fails = [], None
    return make


def case_of(frontier, group, data):
    """Return the first case of a group, and its settings with few outcomes."""
    case = next(case for case in frontier.CASES if case.group == group)
    return case, frontier.settings_of(case, data, counts=[N_OUTCOMES])


def test_as_the_paper__is_the_matched_study_up_to_its_outcomes(frontier, data, make):
    case, settings = case_of(frontier, "paper", data)
    matched = frontier.settings_of(frontier.Case("matched", {}), data, counts=[N_OUTCOMES])
    named = {"study", "people", "public"}
    assert {key: settings[key] for key in settings.keys() - named} == {
        key: matched[key] for key in matched.keys() - named
    }
    assert Path(settings["public"]["keep"]).read_text() == Path(matched["public"]["keep"]).read_text()
    assert case.way(case, settings, make)
    path = Path("results", case.study, "paper.tsv")
    found, before = pd.read_csv(path, sep="\t"), path.stat().st_mtime_ns
    assert set(found["method"]) == {"ridge", "reusecov-gauss", "reusecov-proj"}
    assert set(found["terms"]) == {"none", "paper"}
    assert case.way(case, settings, make)
    assert path.stat().st_mtime_ns == before
    table, paper = frontier.gather()
    assert set(table["group"]) == {"last-version"}
    assert set(table["method"]) == {"ridge", "blup"}
    assert set(paper["which"]) == {"peeked", "fixed"}
    make.fails = case.study
    assert not case.way(case, settings, make)


def test_few_outcomes__are_measured_with_and_without_their_clip(frontier, data, make):
    case, settings = case_of(frontier, "all-people-few", data)
    assert case.way(case, settings, make)
    table, _ = frontier.gather()
    r2 = {key: own["r2"].tolist() for key, own in table.groupby(["group", "method"])}
    now, before = (f"all-people-few{name}" for name in ("", "-unclipped"))
    assert r2[now, "ridge"] == r2[before, "ridge"]
    assert len(r2[now, "blup"]) == 2
    assert not set(r2[now, "blup"]) & set(r2[before, "blup"])
    make.fails = case.study
    assert not case.way(case, settings, make)


@pytest.mark.parametrize("group", ["all-people-half", "all-people-genes"])
def test_beside_own__mixes_outcomes_of_two_studies(frontier, data, make, group):
    case, settings = case_of(frontier, group, data)
    assert case.way(case, settings, make)
    assert [asked["outcomes"].get("factors") for asked, _ in make.asked] == [10, None]
    table, _ = frontier.gather()
    assert set(table["method"]) == {"ridge", "blup", "blup-steered", "blup-shared"}
    assert set(table["n_outcomes"]) == {N_OUTCOMES}
    make.fails = f"{case.study}-own"
    assert not case.way(case, settings, make)


def test_by_components__takes_loadings_of_the_reference(frontier, data, make, monkeypatch):
    monkeypatch.setattr(frontier, "N_COMPONENTS", 2)
    case, settings = case_of(frontier, "loadings-100", data)
    assert case.way(case, settings, make)
    (public, first), (own, last) = make.asked
    assert public["people"] == {"keep": own["public"]["keep"]}
    assert "public" not in public
    assert (first, last) == (frontier.OUTCOMES, frontier.METRICS)
    found = read_outcome_loadings(own["outcomes"]["loadings"])
    assert found.values.shape == (N_OUTCOMES, 2)
    make.fails = public["study"]
    assert not case.way(case, settings, make)


def test_from_public_effects__names_a_file_for_each_outcome(frontier, data, make):
    case, settings = case_of(frontier, "effects", data)
    assert case.way(case, settings, make)
    (before, first), (after, last) = make.asked
    assert (first, last) == (frontier.OUTCOMES, frontier.METRICS)
    assert before["study"] == after["study"]
    assert "effects" not in before["public"]
    assert [Path(path).stem for path in after["public"]["effects"]] == simulated_names(N_OUTCOMES)
    make.fails = case.study
    assert not case.way(case, settings, make)


def test_main__gathers_what_is_done_and_tells_what_failed(frontier, data, monkeypatch, capsys):
    def run(case, settings, *, cores):
        r2 = {"ridge": 0.5, "blup": case.seed / 10}
        lines = [
            {
                "method": method,
                "epsilon": epsilon,
                "n_variants": 400,
                "n_outcomes": 10,
                "r2": r2[method] + more,
            }
            for method, epsilon in (("ridge", None), ("blup", 5))
            for more in (-0.01, 0.01)
        ]
        folder = Path("results", case.study)
        folder.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(lines).to_csv(folder / "metrics.tsv", sep="\t", index=False)
        return case.name != "matched-3"

    monkeypatch.setattr(frontier, "run", run)
    assert frontier.main([str(data), "matched-1", "matched-3"]) == 1
    said = capsys.readouterr()
    assert said.err == "Failed: matched-3.\n"
    assert said.out.splitlines() == [
        "| case | epsilon, variants, outcomes | ridge | blup | reference |",
        "| --- | --- | --- | --- | --- |",
        "| matched | 5, 400, 10 | 0.500 ± 0.000 | 0.200 ± 0.100 | blup .367, blup-ld .397 |",
    ]
    table = pd.read_csv(frontier.TABLE, sep="\t")
    assert table["case"].tolist() == ["matched-1"] * 2 + ["matched-3"] * 2
    assert frontier.FIGURE.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit):
        frontier.main([str(data), "other"])
