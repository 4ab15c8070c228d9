import shlex
import subprocess

import pytest
from snakemake.io import contains_wildcard

from dpgrs.cli import main
from dpgrs.config import resolve
from dpgrs.rule_options import filter_flags, flags, panel_flags, privacy_options, screening_options


def test_flags__what_a_shell_reads_is_what_was_meant():
    text = flags(a_path="x; rm 'y' $HOME", n=[1, 2.5], yes=True, no=False, none=None, empty=[])
    assert shlex.split(text) == ["--a-path", "x; rm 'y' $HOME", "--n", "1", "--n", "2.5", "--yes"]


@pytest.mark.parametrize(
    "text", ["v{x}", "{ x , a{3} }", "{.a}{b}", "it's {x}", '{"a": "{x}"}', "{", "{}", "a{1}"]
)
def test_flags__hold_nothing_that_snakemake_would_fill_in(text):
    written = flags(text=text)
    assert not contains_wildcard(written)
    read = subprocess.run(
        ["bash", "-c", f"printf '%s ' {written}"], capture_output=True, text=True, check=True
    )
    assert read.stdout == f"--text {text} "


def test_panel_flags__take_the_largest_panel():
    settings = resolve({"panel": {"size": [10, 30, 20], "classes": "snp", "ld_r2": 0.2}, "seed": 7})
    assert filter_flags(settings) == (
        "--maf 0.01 --missing 0.05 --hwe 0.0 --ambiguous drop --multiallelic drop --class snp --seed 7"
    )
    assert panel_flags(settings) == (
        f"--size 30 {filter_flags(settings)} --ld-r2 0.2 --ld-window 250.0 --rows haplotypes"
    )


@pytest.mark.parametrize(("methods", "share"), [(["k-blup"], None), (["k-blup", "l-blup"], 0.1)])
def test_screening_options__votes_are_counted_where_there_are_any(methods, share):
    settings = resolve({"methods": methods, "screening": {"count_share": 0.1}})
    assert screening_options(settings)["votes_count_share"] == share


def test_options__are_those_of_the_verb_that_takes_them_all():
    settings = resolve({"methods": ["l-blup"], "privacy": {"gram_share": 0.4}})
    text = flags(**privacy_options(settings), **screening_options(settings))
    known = {flag for option in main.commands["release-chosen"].params for flag in option.opts}
    assert {word for word in shlex.split(text) if word.startswith("--")} <= known
