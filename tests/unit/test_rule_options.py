import shlex
import subprocess

import pytest
from snakemake.io import contains_wildcard

from dpgrs.cli.main import main
from dpgrs.study.rule_options import flags, privacy_options, screening_options
from dpgrs.study.settings import resolve


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


@pytest.mark.parametrize(("methods", "share"), [(["k-blup"], None), (["k-blup", "l-blup"], 0.1)])
def test_screening_options__votes_are_counted_where_there_are_any(methods, share):
    settings = resolve({"methods": methods, "screening": {"count_share": 0.1}})
    assert screening_options(settings)["votes_count_share"] == share


def test_options__are_those_of_the_verb_that_takes_them_all():
    settings = resolve({"methods": ["l-blup"], "privacy": {"gram_share": 0.4}})
    text = flags(**privacy_options(settings), **screening_options(settings))
    known = {flag for option in main.commands["release-chosen"].params for flag in option.opts}
    assert {word for word in shlex.split(text) if word.startswith("--")} <= known
