"""What the rules read of Snakemake beyond its documentation: little, all of it listed, and none written."""

import ast
import io
import re
import tokenize

import pytest

from study_runs import REPOSITORY

PAGE = REPOSITORY / "docs" / "development.md"
RULES = sorted(
    [
        REPOSITORY / "Snakefile",
        *REPOSITORY.glob("config/**/Snakefile"),
        *REPOSITORY.glob("workflow/**/Snakefile"),
        *REPOSITORY.glob("workflow/**/*.smk"),
    ]
)
MODULES = sorted(REPOSITORY.glob("workflow/dpgrs*/**/*.py"))
DOCUMENTED = {"snakemake.utils.min_version"}
MOST = 4
IN_TEXT = re.compile(r"\bworkflow\.(?!rst|yaml|py)[\w.]+")


def reads(text):
    """Return what rules read of the workflow, a set of dotted names, and what they do to it besides."""
    found, others = set(), []
    tokens = [
        one
        for one in tokenize.generate_tokens(io.StringIO(text).readline)
        if one.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
    ]
    for place, token in enumerate(tokens):
        if token.type == tokenize.STRING and "f" in token.string.partition(token.string[-1])[0].lower():
            found |= {name.removeprefix("workflow.") for name in IN_TEXT.findall(token.string)}
        if token.type != tokenize.NAME or token.string != "workflow" or tokens[place - 1].string == ".":
            continue
        names, after = [], place + 1
        while tokens[after].string == "." and tokens[after + 1].type == tokenize.NAME:
            names.append(tokens[after + 1].string)
            after += 2
        found.add(".".join(names))
        # Handed on as a whole, or written.
        if not names or re.fullmatch(r"(?!==)\W*=", tokens[after].string):
            others.append(token.line.strip())
    return found, others


def imports(text):
    """Return what a file imports of Snakemake, a set of dotted names."""
    found = set()
    for source, names, whole in re.findall(
        r"^\s*(?:from (snakemake[\w.]*) import (\([^)]*\)|.*)|import (snakemake[\w.]*))", text, re.MULTILINE
    ):
        found |= {whole} if whole else {f"{source}.{name}" for name in re.findall(r"\w+", names)}
    return found


def test_rules__read_of_snakemake_what_the_page_lists_and_write_nothing():
    rows = re.findall(r"^\| `workflow\.([\w.]+)` \|", PAGE.read_text(), re.MULTILINE)
    found = set()
    for path in RULES:
        names, others = reads(path.read_text())
        assert others == [], path
        assert imports(path.read_text()) <= DOCUMENTED, path
        found |= {name.partition(".")[0] for name in names}
    assert found == {*rows}
    assert len(rows) == len(set(rows)) <= MOST


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_package__knows_nothing_of_snakemakes_objects(path):
    """It starts Snakemake as a program, and is handed plain values."""
    tree = ast.parse(path.read_text())
    assert imports(path.read_text()) == set()
    names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    arguments = {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    assert "workflow" not in names | arguments


@pytest.mark.parametrize(
    ("text", "names", "is_refused"),
    [
        ("a = workflow.cores\n", {"cores"}, False),
        ("a = [workflow\n  .dag.jobs]\n", {"dag.jobs"}, False),
        ('a = f"{workflow.basedir}/x"\n', {"basedir"}, False),
        ('# workflow.a\nb = "workflow.c"\nd.workflow.e\n', set(), False),
        ("if workflow.a == 1:\n    pass\n", {"a"}, False),
        ("workflow.a.b = 1\n", {"a.b"}, True),
        ("workflow.a |= 1\n", {"a"}, True),
        ("b = workflow\n", {""}, True),
        ("type(workflow).a = 1\n", {""}, True),
        ('setattr(workflow, "a", 1)\n', {""}, True),
    ],
)
def test_reads__finds_what_is_read_written_and_handed_on(text, names, is_refused):
    found, others = reads(text)
    assert (found, bool(others)) == (names, is_refused)


def test_imports__finds_all_forms():
    text = "import snakemake.api\nif a:\n    from snakemake.io import (\n        b,\n        c,\n    )\n"
    assert imports(text) == {"snakemake.api", "snakemake.io.b", "snakemake.io.c"}


PRIVATE_OUTPUT = re.compile(
    r"\{(?:PRIVATE|REPLICATE)\}.*(?:\.npz|\.zarr|\.vcf\.gz|people\.txt)\"|\b(?:DRAWN|SHARD|STATISTICS|OUTCOMES)\b"
)


def test_rules__private_outputs_are_local():
    """Then a run under `--default-storage-provider` ends before its first job, and copies nothing."""
    found = []
    for path in REPOSITORY.glob("workflow/rules/*.smk"):
        for block in re.findall(r"(?m)^( *)output:\n((?:\1 {4}.*\n)+)", path.read_text()):
            found += [line.strip() for line in block[1].splitlines() if PRIVATE_OUTPUT.search(line)]
    assert len(found) > 15
    assert [line for line in found if "in_place(" not in line] == []
