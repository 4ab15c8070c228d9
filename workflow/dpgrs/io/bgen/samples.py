"""The table of samples that may lie beside a BGEN: a ``.sample`` of the Oxford programs."""

from functools import lru_cache
from pathlib import Path

from dpgrs.errors import DpgrsError
from dpgrs.io.vcf.text import COPY_AGAIN


def sample_table(path: Path) -> Path | None:
    """Return the path of the table of samples beside a BGEN, or None."""
    table = path.with_suffix(".sample")
    return table if table.is_file() else None


@lru_cache(maxsize=1)
def _fields(content: bytes) -> list[list[str]]:
    """Return the fields of lines. The chromosomes of a cohort mostly have equal tables, of which one is
    read."""
    return [line.split() for line in content.decode().splitlines() if line.strip()]


def read_sample_table(path: Path, n_samples: int) -> list[tuple[str, ...]]:
    """Return the columns ID_1 and perhaps ID_2 of a table of samples."""
    try:
        lines = _fields(path.read_bytes())
    except (OSError, UnicodeDecodeError) as error:
        raise DpgrsError(
            "table-not-text", f"`{path}` must be text in UTF-8 that can be read. {COPY_AGAIN}"
        ) from error
    if len(lines) < 2 or {*lines[1]} - {*"0DCPB"} or {len(line) for line in lines} != {len(lines[0])}:
        raise DpgrsError(
            "sample-table-form",
            f"`{path}` must have a line of names, a line of types, such as `0 0 0`, and as many fields in "
            f"every line. {COPY_AGAIN}",
        )
    names, _, *rows = lines
    if len(rows) != n_samples:
        raise DpgrsError(
            "sample-table-length", f"`{path}` must have a line for each sample of its BGEN. {COPY_AGAIN}"
        )
    n_ids = 2 if names[1:2] == ["ID_2"] else 1
    return list(zip(*(row[:n_ids] for row in rows), strict=True))
