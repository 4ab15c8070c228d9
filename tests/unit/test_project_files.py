"""Files by which a project is found, cited and joined agree, and their links lead somewhere."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib

import click
import pytest
import yaml

import dpgrs
from dpgrs.cli.main import main
from study_runs import REPOSITORY

PAGES = [
    path
    for pattern in ("*.md", "config/*.md", "docs/**/*.md", "results/README.md")
    for path in sorted(REPOSITORY.glob(pattern))
]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def test_versions__agree():
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert citation["version"] == dpgrs.__version__
    [papers] = REPOSITORY.glob("workflow/dpgrs_papers-*.dist-info")
    assert papers.name == f"dpgrs_papers-{dpgrs.__version__}.dist-info"
    lines = (papers / "METADATA").read_text().splitlines()
    assert {f"Version: {dpgrs.__version__}", f"Requires-Dist: dpgrs[workflow]=={dpgrs.__version__}"} <= {
        *lines
    }
    built = tomllib.loads((REPOSITORY / "workflow" / "pyproject.toml").read_text())
    assert built["project"]["version"] == dpgrs.__version__
    assert built["project"]["dependencies"] == [f"dpgrs[workflow]=={dpgrs.__version__}"]
    assert papers.name in built["tool"]["setuptools"]["dynamic"]["entry-points"]["file"]
    assert f'VERSION, HOW = "{dpgrs.__version__}"' in (REPOSITORY / "workflow/rules/common.smk").read_text()
    headings = re.findall(r"^## (.+)$", (REPOSITORY / "CHANGELOG.md").read_text(), flags=re.M)
    versions = [heading.split()[0] for heading in headings if heading != "Unreleased"]
    assert versions[:1] in ([], [dpgrs.__version__])
    assert ("date-released" in citation) == bool(versions)


def test_locks__of_extras_leave_out_what_the_first_has_and_agree():
    locks = {path.name: locked(path) for path in REPOSITORY.glob("requirements*.lock")}
    assert not any("/tmp/" in path.read_text() for path in REPOSITORY.glob("requirements*.lock"))
    first = locks.pop("requirements.lock")
    assert locks.keys() == {f"requirements-{extra}.lock" for extra in ("dev", "docs", "gan")}
    assert [
        name for name, added in locks.items() if {one for one, _ in added} & {one for one, _ in first}
    ] == []
    tests, manual = locks["requirements-dev.lock"], locks["requirements-docs.lock"]
    assert {one for one, _ in tests & manual} == {one for one, _ in tests} & {one for one, _ in manual}


def locked(path):
    """Return the packages of a lock with their versions."""
    return set(re.findall(r"(?m)^([\w.-]+)==([\w.]+)", path.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_links__lead_to_files_and_headings_that_are_there(page):
    for target in LINK.findall(page.read_text()):
        if target.startswith(("https://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_reference__pages_are_what_the_program_says():
    # In a process of its own: click keeps the help option of a command that another test ran by itself.
    write = "import json, reference_pages; print(json.dumps(reference_pages.pages()))"
    places = [REPOSITORY / "docs" / "_ext", REPOSITORY / "workflow"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))}
    made = subprocess.run(
        [sys.executable, "-c", write], env=environment, capture_output=True, text=True, check=True
    )
    for name, text in json.loads(made.stdout).items():
        is_current = (REPOSITORY / "docs" / "reference" / name).read_text() == text
        assert is_current, f"docs/reference/{name} is not current: run `make reference`"


def test_make__targets_on_pages_are_in_the_makefile():
    targets = set(re.findall(r"^([a-z][a-z-]*)(?: [a-z-]+)*:", (REPOSITORY / "Makefile").read_text(), re.M))
    for page in PAGES:
        named = set(re.findall(r"(?:`|^)make ([a-z][a-z-]*)(?= |`|$)", page.read_text(), re.M))
        assert named <= targets, page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_commands__have_the_options_that_pages_name(page):
    for words in commands(page):
        command, context = main, click.Context(main)
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            name = words.pop(0)
            command = command.get_command(context, name)
            assert command is not None, name
        known = {option for one in command.get_params(context) for option in (*one.opts, *one.secondary_opts)}
        named = {word.partition("=")[0] for word in words if word.startswith("--")}
        takes_any = command.context_settings.get("ignore_unknown_options", False)
        assert takes_any or named <= known, (words, named - known)


def commands(page):
    """Yield the words after `dpgrs` of each command in code of a page; those of a pattern are left out."""
    text = page.read_text().replace("\\\n", " ")
    code = re.findall(r"(?ms)^```[a-z]*\n(.*?)^```", text) + re.findall(r"`([^`\n]+)`", text)
    for line in re.findall(r"(?m)^(?:\.venv/bin/)?dpgrs ([a-z][^|>\n]*)", "\n".join(code)):
        yield [word for word in shlex.split(line.partition(" #")[0]) if not word.isupper()]


def anchors(page):
    """Return the anchors of a page's headings, as the usual sites for code make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)
    found = re.findall(r"^#+ (.+)$", text, flags=re.M)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found]
    return {*plain, *(f"{name}-{number}" for name in plain for number in (1, 2))}


def test_harmless_mutants__are_of_modules_that_exist():
    lines = (REPOSITORY / "tests" / "mutants" / "harmless.tsv").read_text().splitlines()[1:]
    assert lines
    assert all((REPOSITORY / "workflow" / line.split("\t")[0]).is_file() for line in lines)
