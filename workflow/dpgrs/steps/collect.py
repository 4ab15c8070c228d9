"""Tables of all trials in one."""

from pathlib import Path

from dpgrs.errors import UsageError
from dpgrs.io.files import replacing


def collect_tables(tables, *, output):
    """Join tables with the same header line, byte for byte, in the order given.

    Parameters
    ----------
    tables : list of paths.
    output : path.
    """
    texts = [Path(table).read_text() for table in tables]
    headers, bodies = zip(*(text.split("\n", maxsplit=1) for text in texts), strict=True)
    if len(set(headers)) > 1:
        raise UsageError(
            "Tables must have the same header line to be joined, got different ones. Name others."
        )
    with replacing(output) as temporary:
        temporary.write_text(f"{headers[0]}\n" + "".join(bodies))
