"""Results held to docs/reference/files.md: the files of a study, and the columns of its tables."""

import gzip
import json
import re
from fnmatch import fnmatch

from study_runs import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "files.md"
# The columns of the first are the business of `dpgrs release verify`, those of the others Snakemake's.
OTHERS_COLUMNS = ("release/", "benchmarks/", "private/benchmarks/")
BESIDE = (".sha256", ".snakemake_timestamp")


def named(first):
    """Return the names in the first cells of all rows of the page's tables whose first column is `first`."""
    _, names = _tables(PAGE.read_text(), first)
    return names


def columns_of(section, *, is_release=False):
    """Return the columns or keys that a section of the page lists, and the names of all files with them."""
    text = re.split(r"(?m)^#+ ", PAGE.read_text().partition(f"\n### `{section}`\n")[2])[0]
    if is_release:
        text = re.sub(r"(?m)^\|.*; not in a release \|\n", "", text)
    same = re.search(r"(?m)^The same columns: (.*)$", text)
    _, columns = _tables(text, "column|key")
    return columns, [section, *(re.findall(r"`(.+?)`", same[1]) if same else [])]


def unlike_the_page(root):
    """Return the files of a study, or what is wrong with their columns, that the page does not have."""
    patterns, sections = named("file"), re.findall(r"(?m)^### `(\S+)`$", PAGE.read_text())
    columns = {}
    for section in sections:
        listed, names = columns_of(section, is_release=(root / "release").exists())
        columns |= dict.fromkeys(names, listed)
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.endswith(BESIDE)]
    found = []
    for path in files:
        name = path.relative_to(root).as_posix()
        if not any(fnmatch(name, pattern + "*" * pattern.endswith("/")) for pattern in patterns):
            found.append(f"{name} is not on the page")
        listed = [own for pattern, own in columns.items() if fnmatch(name, pattern)]
        is_table = name.endswith((".tsv", ".tsv.gz")) and not name.startswith(OTHERS_COLUMNS)
        if listed or is_table:
            header = _header(path)
            if not listed or not _agree(header, listed[0]):
                found.append(f"{name} has {header}, and the page {listed}")
    return found


def _tables(text, first):
    rows = []
    for table in re.findall(rf"(?m)^\| (?:{first}) \|.*\n\| ---.*\n((?:\|.*\n)+)", text):
        rows += [line.split(" | ")[0] for line in table.splitlines()]
    return rows, [name for row in rows for name in _names(row)]


def _names(cell):
    """Return the names in a cell; a last one followed by dots stands for others with a number."""
    names = re.findall(r"`(.+?)`", cell)
    return [*names[:-1], re.sub(r"1$", "NUMBER", names[-1])] if cell.endswith(", ...") else names


def _header(path):
    if path.suffix == ".json":
        return list(json.loads(path.read_text()))
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as table:
        return table.readline().rstrip("\n").split("\t")


def _agree(header, listed):
    """Return whether a header has all columns in order, and else only those with a name or number in them."""
    patterns = [re.sub("NUMBER", r"\\d+", re.sub("NAME", ".+", name)) for name in listed if "N" in name]
    fixed = [name for name in listed if "NAME" not in name and "NUMBER" not in name]
    others = [name for name in header if name not in fixed]
    matched = all(any(re.fullmatch(pattern, name) for pattern in patterns) for name in others)
    return [name for name in header if name in fixed] == fixed and matched
