"""Plans of experiments, and from their rows to table, page and summary."""

import json
from dataclasses import replace
from itertools import product

import pandas as pd
import pytest

from dpgrs.errors import UsageError
from dpgrs.reporting.rendering import Drawing
from dpgrs_papers.experiments import results
from dpgrs_papers.experiments.frame import Experiment, Verdict, find
from dpgrs_papers.experiments.plans import Form, read_plans
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.experiments.sgd_settings import AS_IT_IS, SETTING
from experiment_runs import SNAKEFILE
from refused import refused

YAML = """
seed: 4
experiments:
  one:
    parts: {a: x/a.npz, b: [b1, b2], c: null}
    replicates: 100
    mem_mb: 9000
    settings: {grid: [1, 2, 3], k: 5}
    cut: {rule: every second value., settings: {grid: [1, 3]}}
    quick: {parts: [a], replicates: 2}
"""


def plan(write, text=YAML, form=Form.CUT):
    return read_plans(write(text, "experiments.yaml"), form)["one"]


def test_read_plans__each_form(write):
    cut, whole, quick = (plan(write, form=form) for form in Form)
    assert cut.part_files == whole.part_files == {"a": ["x/a.npz"], "b": ["b1", "b2"], "c": []}
    assert cut.settings == {"seed": 4, "grid": [1, 3], "k": 5}
    assert whole.settings == quick.settings == {"seed": 4, "grid": [1, 2, 3], "k": 5}
    assert (list(quick.part_files), quick.replicates, cut.replicates) == (["a"], 2, 100)
    assert (cut.rule, whole.rule) == ("every second value.", "")
    assert cut.resources == {"threads": 1, "mem_mb": 9000, "runtime": 60}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mem_mb", "memory", "got memory"),
        ("rule", "why", "`one.cut`"),
        ("{rule: every second value., ", "{", "rule"),
        ("    replicates: 100\n", "", "replicates"),
        ("[a]", "[z]", "got z"),
    ],
)
def test_read_plans__raise_on_what_does_not_fit(write, old, new, said):
    form = Form.QUICK if new == "[z]" else Form.CUT
    with pytest.raises(UsageError, match=said):
        plan(write, YAML.replace(old, new), form)


@pytest.fixture
def experiment(monkeypatch):
    """An experiment whose replicates tell their number, in place of one that is found by name."""

    def draw(table, settings):
        figure, _ = new_figure(100, 50, left=20, right=5, top=5, bottom=10)
        return {"sums": Drawing(figure, "Sums")}

    own = Experiment(
        paper="A paper",
        shows="Figure 9",
        run_replicate=lambda part, replicate, settings, files: [
            {"value": replicate * settings["k"], "n": len(files)}
        ],
        summarise=lambda rows, settings: rows.groupby("part")["value"].sum().reset_index(),
        draw=draw,
        compare=lambda table, settings: table.assign(paper=[0.5, float("nan")]),
        judge=lambda table, settings: (Verdict.WITH_DIFFERENCE, "it is larger."),
        choices=("k is free.",),
    )
    monkeypatch.setattr(results, "find", lambda name: own)
    return own


def run_all(folder, terms):
    for part in terms["parts"]:
        for replicate in range(1, terms["replicates"] + 1):
            output = results.replicate_file(folder, part, replicate)
            results.run_replicate("one", part, replicate, settings=terms["settings"], files=[], output=output)


SHIPPED = SNAKEFILE.with_name("experiments.yaml")


def test_shipped_plans__cut_by_a_rule_what_the_whole_has():
    cut, whole = (read_plans(SHIPPED, form) for form in (Form.CUT, Form.WHOLE))
    is_cut = {name for name in cut if cut[name]._replace(form=Form.WHOLE, rule="") != whole[name]}
    assert is_cut == {name for name, one in cut.items() if one.rule}
    assert {"dp_sis", "tukey_models", "tukey_sgd"} <= is_cut
    for name in is_cut:
        assert set(cut[name].part_files) <= set(whole[name].part_files)
        assert cut[name].replicates <= whole[name].replicates
        for key, value in cut[name].settings.items():
            full = whole[name].settings[key]
            assert set(value) <= set(full) if isinstance(value, list) else value == full


def test_shipped_plans__dp_sgd_has_the_papers_number_of_settings_and_replicates():
    whole = read_plans(SHIPPED, Form.WHOLE)["tukey_sgd"]
    grid = set(product(*(whole.settings[name] for name in SETTING)))
    assert len(grid) == 2184
    assert AS_IT_IS in grid
    assert whole.replicates == 100


def test_gather__takes_the_replicates_of_the_plan_alone(experiment, tmp_path):
    terms = {"form": "cut", "parts": ["a", "b"], "replicates": 3, "rule": "", "settings": {"k": 10}}
    run_all(tmp_path, terms)
    fewer = terms | {"replicates": 2, "rule": "two of three."}
    results.gather("one", folder=tmp_path, plan=fewer)
    table = pd.read_csv(tmp_path / "table.tsv", sep="\t")
    assert table.to_dict("list") == {"part": ["a", "b"], "value": [30, 30]}
    summary = (tmp_path / "summary.md").read_text()
    for said in (
        "**Reproduced with a difference**: it is larger.",
        "| b | 30 |  |",
        "Cut: two of three.",
        "- k",
    ):
        assert said in summary
    page = (tmp_path / "report" / "index.html").read_text()
    assert page.count("<svg") == 1
    assert "Reproduced with a difference: it is larger." in page
    assert "not private" in page
    assert (tmp_path / "figures" / "sums.svg").is_file()


def test_gather__raise_on_a_replicate_that_is_missing_or_none(experiment, tmp_path):
    terms = {"form": "quick", "parts": ["a"], "replicates": 1, "rule": "", "settings": {"k": 1}}
    with refused("file-not-as-written"):
        results.gather("one", folder=tmp_path, plan=terms)
    with refused("results-empty", error=UsageError):
        results.gather("one", folder=tmp_path, plan=terms | {"replicates": 0})


def test_gather__of_an_experiment_without_figures(experiment, tmp_path, monkeypatch):
    bare = replace(experiment, draw=lambda table, settings: {})
    monkeypatch.setattr(results, "find", lambda name: bare)
    terms = {"form": "quick", "parts": ["a", "b"], "replicates": 1, "rule": "", "settings": {"k": 1}}
    run_all(tmp_path, terms)
    results.gather("one", folder=tmp_path, plan=terms)
    assert "Figures" not in (tmp_path / "report" / "index.html").read_text()
    assert (tmp_path / "figures").is_dir()


def test_find__raise_on_another_name():
    assert "Figure 1" in find("dp_sis_instability").shows
    for name in ("frame", "nothing"):
        with pytest.raises(UsageError, match=name):
            find(name)


def test_terms__are_json_of_what_a_page_is_made_from(write):
    terms = json.loads(plan(write).page_json)
    assert terms["parts"] == ["a", "b", "c"]
    assert terms["settings"]["seed"] == 4
