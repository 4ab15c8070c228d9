"""The experiment that holds methods against each other on parts of public data."""

from pathlib import Path

import pandas as pd
import pytest
import yaml

from dpgrs.study.settings import resolve
from study_runs import load_experiment
from vcf_files import record, vcf_text, write_gzip


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
        assert (config["privacy"]["bounds"] == "tight") == (case.group != "paper")
        studies.add(config["study"])
        if case.cohort is None:
            assert config["people"]["keep"] is config["public"]["reference"] is None
            assert "blup-ld" not in config["methods"]
            continue
        lists = [frontier.TABLE.with_name(f"{case.name}-{side}.txt") for side in ("cohort", "reference")]
        assert config["people"]["keep"] == str(lists[0])
        assert config["public"]["keep"] == (None if case.group == "paper" else str(lists[1]))
        sides = [path.read_text().split() for path in lists]
        assert not set(sides[0]) & set(sides[1])
        n_cohort = round(20 * case.cohort) if isinstance(case.cohort, float) else 8
        assert [len(side) for side in sides] == [n_cohort, 4 if case.reference else 20 - n_cohort]
    assert len(studies) == len(frontier.CASES)


def test_cases__seeds_divide_the_people_in_other_ways(frontier, data):
    halves = [frontier.sides(frontier.Case("matched", {}, seed), data)[0] for seed in (1, 2, 1)]
    assert halves[0] == halves[2]
    assert set(halves[0]) != set(halves[1])


def test_write_list__keeps_the_time_of_a_list_that_is_there(frontier, tmp_path):
    path = tmp_path / "lists" / "a.txt"
    frontier.write_list(path, ["a", "b"])
    before = path.stat().st_mtime_ns
    frontier.write_list(path, ["a", "b"])
    assert path.stat().st_mtime_ns == before
    frontier.write_list(path, ["a"])
    assert path.read_text() == "a\n"


def test_settings_of__sizes_and_counts_of_the_command_line_come_first(frontier, data):
    case = next(case for case in frontier.CASES if case.group == "factors")
    settings = frontier.settings_of(case, data, sizes=[100], counts=[1, 10])
    assert settings["panel"] == {"size": [100]}
    assert settings["outcomes"] == {"factors": 10, "count": [1, 10]}


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
    reference = frontier.REFERENCE["matched", 5, 400, 10]
    assert said.out.splitlines() == [
        "| case | epsilon, variants, outcomes | ridge | blup | reference |",
        "| --- | --- | --- | --- | --- |",
        f"| matched | 5, 400, 10 | 0.500 ± 0.000 | 0.200 ± 0.100 | {reference} |",
    ]
    table = pd.read_csv(frontier.TABLE, sep="\t")
    assert table["case"].tolist() == ["matched-1"] * 2 + ["matched-3"] * 2
    assert frontier.FIGURE.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit):
        frontier.main([str(data), "other"])
