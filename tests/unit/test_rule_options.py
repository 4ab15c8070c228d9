import shlex
import subprocess

import pytest
from snakemake.io import contains_wildcard

from dpgrs.study.verbs import flags


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
