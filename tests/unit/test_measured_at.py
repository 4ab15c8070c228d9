"""What pages say was measured at a commit was: the commit is one of this history."""

import re
import subprocess

import pytest

from study_runs import REPOSITORY

PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("config/*.md"), *REPOSITORY.glob("docs/**/*.md")])
# Letters and digits both, so that neither a number nor a word is one.
HASH = re.compile(r"(?<![\w./@-])(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{7,12}(?![\w-]|\.\w)")
# Those of other repositories, with the page that says whose.
ELSEWHERE = {
    ("docs/reference/bundle.md", "3e9c812"),
    ("docs/how-to/release.md", "426169c"),
    ("docs/how-to/release.md", "724b727"),
}


def git(*arguments):
    command = ["git", "-C", REPOSITORY, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def hashes():
    """Yield a page's name and a hash that it names."""
    for page in PAGES:
        name = page.relative_to(REPOSITORY).as_posix()
        yield from ((name, found) for found in HASH.findall(page.read_text()))


def test_pages__name_commits_of_this_history():
    named = set(hashes())
    assert named > ELSEWHERE
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return  # a copy of the files, or of the last commits alone, cannot tell
    own = named - ELSEWHERE
    gone = {one for one in own if git("merge-base", "--is-ancestor", one[1], "HEAD").returncode != 0}
    assert gone == set()


@pytest.mark.parametrize(
    "page", sorted((REPOSITORY / "docs" / "experiments").glob("*.md")), ids=lambda page: page.stem
)
def test_experiments__say_where_they_ran(page):
    assert page.stem == "README" or HASH.search(page.read_text())
