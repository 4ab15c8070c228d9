"""Tables of all trials in one."""

from pathlib import Path

from dpgrs.io.files import replacing


def collect_tables(tables, *, output):
    """Join tables with the same header line, byte for byte, in the order given.

    Parameters
    ----------
    tables : list of paths.
    output : path.
    """
    texts = [Path(table).read_text() for table in tables]
    header = texts[0].partition("\n")[0]
    bodies = [text.removeprefix(f"{header}\n") for text in texts]
    with replacing(output) as temporary:
        temporary.write_text(f"{header}\n" + "".join(bodies))
