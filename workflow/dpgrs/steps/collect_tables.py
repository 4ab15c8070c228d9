"""Tables of all replicates in one."""

from pathlib import Path

from dpgrs.errors import UsageError
from dpgrs.io.files import not_as_written, read_bytes, write_text


def collect_tables(tables: list[Path], *, output: Path) -> None:
    """Join tables with the same header line, byte for byte, in the order given.

    Parameters
    ----------
    tables : tables of the replicates.
    output : the joined table to write.
    """
    headers, bodies = zip(*map(_split, tables), strict=True)
    if len(set(headers)) > 1:
        raise UsageError(
            "table-headers-differ",
            "Tables must have the same header line to be joined, got different ones. Name others.",
        )
    write_text(output, f"{headers[0]}\n" + "".join(bodies))


def _split(path: Path) -> tuple[str, str]:
    """Return the header line of a table, and what follows it."""
    try:
        header, body = read_bytes(path).decode("utf-8").split("\n", maxsplit=1)
    except (OSError, ValueError):
        raise not_as_written(path) from None
    return header, body
