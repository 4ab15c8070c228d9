"""Check the folder of a bundle before anything in it is trusted: it holds only files, none too large.

A folder that somebody else made may hold anything. Each entry is checked before it is opened, and text
is read up to a limit.
"""

import csv
import hashlib
import io
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dpgrs.statement.words import decimal_text

SUMS = "SHA256SUMS"
NOT_IN_STATEMENT = {"privacy_statement.json", SUMS}
LARGEST_FILE = 2**27
# A score of three million variants has some 210 MB of text. Tables are read some lines at a time.
LARGEST_TABLE = 2**28
# X'X of 11,000 variants has 970 MB.
LARGEST_STATISTICS = 2**30
OF_ARRAYS = ".npz"
# Scoring files shrink to a fifth; only a file made to fill a disk shrinks to a hundredth.
LARGEST_RATIO = 100
MIB = 2**20
AT_ONCE = 2**22  # bytes of text
# Columns of tables that hold numbers, and the form of tables.
NUMBERS = {*("constant", "haplotype_constant", "n", "outcome_sum", "outcome_squares", "score_sum")}
NUMBERS |= {*("score_squares", "products", "value", "low", "high", "expected", "weight", "centre", "scale")}
NUMBERS |= {*("bound", "population_prevalence")}
TWELVE_DIGITS = {"weight", "bound"}
TABLE_FORM = "one line feed a line, quotes only where a cell needs them, the shortest decimals"
LINE_FEEDS, OTHER_THAN_GZIP = "every line must end with a line feed", "it must be gzip of UTF-8 text"
# An absolute path of Unix or Windows, a home folder, a file address; not a web address or a fraction.
TRACE = re.compile(r"(?<![\w:/.])~?/[\w.+-]+/[\w.+-]+|\b[A-Za-z]:\\+\w|\bfile://|(?<!\w)~/\w")


def list_files(folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Return the files of a bundle that may be opened, and the errors of the others, by name.

    Names are relative to the folder.
    """
    files, refused = {}, {}
    for path in sorted(folder.iterdir()):
        if stat.S_ISDIR(path.lstat().st_mode):
            inner = sorted(path.iterdir())
            if not inner:
                refused[path.name] = f"{path.name} must not be there: an empty folder"
        else:
            inner = [path]
        for file in inner:
            name, status = file.relative_to(folder).as_posix(), file.lstat()
            if stat.S_ISDIR(status.st_mode):
                refused[name] = f"{name} must not be there: a folder in a folder"
            elif not stat.S_ISREG(status.st_mode):
                refused[name] = f"{name} must be a file of its own, not {_kind(status.st_mode)}"
            elif status.st_size > (most := _largest(name)):
                refused[name] = f"{name} must have at most {most // MIB} MiB"
            else:
                files[name] = file
    return files, refused


def read_digests(files: dict[str, Path]) -> tuple[dict[str, str] | None, list[str]]:
    """Return the listed digests by file name, None if there is no such list, and problems."""
    if SUMS not in files:
        return None, []
    *lines, last_line = read_text(files[SUMS]).split("\n")
    matches = [re.fullmatch(r"([0-9a-f]{64})  (\S+)", line) for line in lines]
    if last_line or not all(matches):
        return None, [f"{SUMS} must hold lines of a digest, two spaces and a file name"]
    listed = {match[2]: match[1] for match in matches}
    return listed, [] if len(listed) == len(lines) else [f"{SUMS} must list each file once"]


def digest_problems(
    digests: dict[str, str], *, sums: dict[str, str] | None, statement: dict[str, Any] | None
) -> dict[str, str]:
    """Compare the files with the two lists of digests; return the differences by name."""
    lists = {} if sums is None else {SUMS: (sums, {SUMS})}
    if statement is not None:
        lists["the statement"] = (statement["files"], NOT_IN_STATEMENT)
    problems = {}
    for name in sorted(digests.keys() | {file for listed, _ in lists.values() for file in listed}):
        faults = {}
        for list_name, (listed, unlisted) in lists.items():
            if name in listed or name not in unlisted:
                faults.setdefault(_fault(listed.get(name), digests.get(name)), []).append(list_name)
        for fault, where in faults.items():
            if fault is not None:
                problems.setdefault(name, f"{name} {fault.format(' and '.join(where))}")
    return problems


def read_text(path: Path) -> str:
    """Return the text of a file that `list_files` names, ends of lines too; what is not UTF-8 is replaced."""
    return path.read_bytes().decode(errors="replace")


def read_rows(path: Path) -> list[list[str]]:
    """Return the cells of a table with tabs, a list a line, the names first; ``[[]]`` of what is no table."""
    try:
        return [*csv.reader(read_text(path).split("\n")[:-1], delimiter="\t")] or [[]]
    except csv.Error:
        return [[]]


def table_problems(files: dict[str, Path], names: Iterable[str]) -> list[str]:
    """Check that tables are written as dpgrs writes them: every cell, and every number, has one form."""
    problems = []
    for name in sorted({*names} & files.keys()):
        rows, text = read_rows(files[name]), io.StringIO()
        csv.writer(text, delimiter="\t", lineterminator="\n").writerows(rows)
        columns = [index for index, column in enumerate(rows[0]) if column in NUMBERS]
        cells = {(rows[0][index], row[index]) for row in rows[1:] for index in columns if index < len(row)}
        if text.getvalue().encode() != files[name].read_bytes() or not all(
            _is_written(*cell) for cell in cells
        ):
            problems.append(f"{name} must have cells and numbers as dpgrs writes them: {TABLE_FORM}")
    return problems


def _is_written(column: str, cell: str) -> bool:
    """Return whether a cell is empty, or a number as a plain decimal, or of 12 digits in these columns."""
    try:
        number = float(cell or "0")
    except ValueError:
        return False
    return cell == f"{number:.12g}" if column in TWELVE_DIGITS else cell in ("", decimal_text(number + 0.0))


def unzip(data: bytes, *, largest_ratio: int = LARGEST_RATIO) -> Iterator[bytes]:
    """Yield the text of gzip of one member in parts, up to a limit: `largest_ratio` times its size, say.

    ValueError says that it is something else, cut off, followed by more, or too large.
    """
    most, size, end = min(LARGEST_TABLE, largest_ratio * len(data)), 0, 0
    reader = zlib.decompressobj(wbits=31)
    while end < len(data) and not reader.eof:
        compressed, end = data[end : end + MIB], end + MIB
        while compressed and not reader.eof:
            try:
                text = reader.decompress(compressed, AT_ONCE)
            except zlib.error:
                raise ValueError(OTHER_THAN_GZIP) from None
            compressed, size = reader.unconsumed_tail, size + len(text)
            if size > most:
                limits = f"{LARGEST_TABLE // MIB} MiB and {largest_ratio} times its own size"
                raise ValueError(f"its text must have at most {limits}")
            if text:
                yield text
    if not reader.eof or reader.unused_data or end < len(data):
        raise ValueError(f"{OTHER_THAN_GZIP}, whole and with nothing after it")


def lines_of(path: Path, problems: list[str], **limits: Any) -> Iterator[str]:
    """Yield the text of a table that is gzipped without a name and a time, many whole lines at once.

    Further problems are added to `problems`; ValueError says why it cannot be read. `limits` are as of
    `unzip`.
    """
    data, incomplete_line, has_text, has_returns = path.read_bytes(), b"", False, False
    if data[3:8] != bytes(5):
        problems.append("the gzip header must hold neither a name nor a time")
    try:
        for text in unzip(data, **limits):
            has_text, has_returns = True, has_returns or b"\r" in text
            end = text.rfind(b"\n") + 1
            if end:
                yield (incomplete_line + text[:end]).decode()
                incomplete_line = b""
            incomplete_line += text[end:]
        incomplete_line.decode()
    except UnicodeDecodeError:
        raise ValueError(OTHER_THAN_GZIP) from None
    if not has_text:
        raise ValueError(LINE_FEEDS)
    if incomplete_line or has_returns:
        problems.append(LINE_FEEDS)


def _largest(name: str) -> int:
    """Return how many bytes a file may have."""
    return {OF_ARRAYS: LARGEST_STATISTICS, ".gz": LARGEST_TABLE, ".tsv": LARGEST_TABLE}.get(
        Path(name).suffix, LARGEST_FILE
    )


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _kind(mode: int) -> str:
    kinds = {stat.S_ISLNK: "a link", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket"}
    return next((name for is_kind, name in kinds.items() if is_kind(mode)), "a device")


def _fault(listed: str | None, actual: str | None) -> str | None:
    """Return what is wrong with a file, None if nothing, by its digest in a list and its real one."""
    if listed == actual:
        return None
    if actual is None:
        return "must be there: listed in {}" if listed else None
    return "must have the digest in {}, but was changed" if listed else "must not be there: not listed in {}"
