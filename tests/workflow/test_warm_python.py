"""A warm Python does as Python does; that it makes the same bytes is seen in test_release.py, whose first
release runs without it."""

import subprocess
import sys

import pytest

from study_runs import environment, warm_python_of_tests

pytestmark = pytest.mark.workflow


@pytest.fixture
def start(tmp_path):
    """Start a warm Python in a folder; its streams are joined."""
    program, variables = warm_python_of_tests(())

    def start(*arguments, **others):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        variables_of_all = environment() | variables | others
        return subprocess.Popen([program, *arguments], env=variables_of_all, cwd=tmp_path, **streams)

    return start


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["-m", "dpgrs", "ledger", "show", "none.jsonl"], 2),
        (["-m", "dpgrs", "no-verb"], 2),
        (["-m", "dpgrs", "--version"], 0),
        (["-c", "import os; print(os.getcwd(), os.umask(0), flush=True); os.kill(os.getpid(), 9)"], -9),
    ],
)
def test_warm_python__ends_and_says_as_python_does(start, tmp_path, arguments, code):
    cold = subprocess.run(
        [sys.executable, *arguments], env=environment(), cwd=tmp_path, capture_output=True, text=True
    )
    with start(*arguments) as warm:
        said = warm.communicate()[0]
    assert (warm.returncode, said) == (cold.returncode, cold.stdout + cold.stderr)
    assert warm.returncode == code


def test_warm_python__is_gone_with_who_asked_for_it(start):
    with start("-m", "dpgrs", "audit", "--draws", "1000000") as process:
        process.kill()
        # Its output ends when nobody holds it any more.
        assert process.communicate()[0] == ""
    assert process.returncode == -9
