"""The text files of PLINK: which people (.fam, .psam) and variants (.bim, .pvar) a set of files holds."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dpgrs.errors import DpgrsError
from dpgrs.io import files
from dpgrs.io.vcf.text import COPY_AGAIN, first_repeat
from dpgrs.io.vcf.vcf import declared_contig

if TYPE_CHECKING:
    import pandas as pd


GENOTYPES = (".pgen", ".bed")
# PLINK's numbers of the chromosomes beyond the autosomes.
NAMES = {"23": "X", "24": "Y", "25": "XY", "26": "MT"}

_TABLES = {".bed": (".bim", ".fam"), ".pgen": (".pvar", ".psam")}
_BIM = {5: ("contig", "id", "position", "alt", "ref"), 6: ("contig", "id", "cm", "position", "alt", "ref")}
_PVAR = {"#CHROM": "contig", "POS": "position", "ID": "id", "REF": "ref", "ALT": "alt", "FILTER": "filter"}
# The ids of the two files that were read last, of cohort and reference, by the SHA-256 of their bytes.
_SAMPLES_READ: dict[bytes, tuple[str, ...]] = {}
_NEEDED = ("#CHROM", "POS", "ID", "REF", "ALT")


class PlinkFiles(NamedTuple):
    """The paths of the three files of a set."""

    genotypes: Path
    variants: Path
    samples: Path


def plink_files(path: Path | str) -> PlinkFiles:
    """Return the set that a ``.bed`` or ``.pgen`` belongs to, whether or not the files exist."""
    path = Path(path)
    if path.suffix not in GENOTYPES:
        raise DpgrsError(
            "plink-ending", f"`{path}` must end in .bed or .pgen. Name the genotypes of a set of PLINK files."
        )
    return PlinkFiles(path, *(path.with_suffix(ending) for ending in _TABLES[path.suffix]))


def read_samples(path: Path) -> tuple[str, ...]:
    """Return the sample ids (IID) of a ``.fam`` or ``.psam`` in file order; refuse repeated ids.

    The chromosomes of a cohort mostly have equal files, of which one is read.
    """
    first, n_skipped = _first_row(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    if digest in _SAMPLES_READ:
        return _SAMPLES_READ[digest]
    column = 1
    if first[:1] in (["#FID"], ["#IID"]):
        column, n_skipped = _iid_column(path, first), n_skipped + 1
    elif len(first) != 6:
        raise DpgrsError("plink-columns", f"`{path}` must have 6 columns, got {len(first)}. {COPY_AGAIN}")
    # Also the last one: if an IID is empty, the field after it would be taken for it.
    columns = sorted({column, len(first) - 1})
    # As objects, which the ids are at last: those of many people take their room but once.
    table = _read_table(path, columns, separator=r"\s+", n_skipped=n_skipped, dtype=object)
    samples = tuple(table[column].tolist())
    if not samples:
        raise DpgrsError("no-samples", f"`{path}` has no samples. {COPY_AGAIN}")
    if not "".join(samples).isprintable():
        number = next(number for number, name in enumerate(samples, 1) if not name.isprintable())
        raise DpgrsError(
            "sample-id-control-characters",
            f"`{path}` must have IIDs without control characters, got another for sample {number}. Rename "
            "them: plink2 --update-ids",
        )
    if same := first_repeat(samples):
        raise DpgrsError(
            "sample-id-twice",
            f"`{path}` must have distinct IIDs, got the same for samples {same[0]} and {same[1]}: the IID "
            "alone is the id of a sample. Rename them: plink2 --update-ids",
        )
    for earlier in list(_SAMPLES_READ)[:-1]:
        del _SAMPLES_READ[earlier]
    _SAMPLES_READ[digest] = samples
    return samples


def read_variants(
    path: Path, *, columns: Collection[str] = ("contig", "position", "id", "ref", "alt", "filter")
) -> "pd.DataFrame":
    """Return the variants of a ``.bim`` or ``.pvar`` as text, a row each in file order.

    A2 (the last column) of a ``.bim`` is REF and A1 is ALT, as for plink2. Contigs have PLINK's numbers
    written as names. A file without FILTER gives no such column.
    """
    names, separator, n_skipped = _variant_columns(path)
    used = {index: name for index, name in names.items() if name in columns}
    table = _read_table(path, list(used), separator=separator, n_skipped=n_skipped).rename(columns=used)
    contigs = {contig: NAMES.get(contig.removeprefix("chr"), contig) for contig in table["contig"].unique()}
    is_named = all(contig == name for contig, name in contigs.items())
    return table if is_named else table.assign(contig=table["contig"].map(contigs))


def read_declared_contigs(path: Path) -> dict[str, int | None]:
    """Return the contigs that the header of a ``.pvar`` declares, with their length or None."""
    declared = {}
    if path.suffix == ".pvar":
        for line in _lines(path):
            if not line.startswith("##"):
                break
            if line.startswith("##contig="):
                declared |= declared_contig(line.encode())
    return {NAMES.get(name.removeprefix("chr"), name): length for name, length in declared.items()}


def require_file(path: Path) -> None:
    """Refuse a file that is missing, unreadable or empty, or exists only in a compressed form."""
    packed = path.with_name(f"{path.name}.zst")
    files.require_file(
        path, absent=f"Decompress it: zstd -d {packed}" if packed.is_file() else files.FETCH_IT
    )


def _iid_column(path: Path, header: list[str]) -> int:
    names = [name.removeprefix("#") for name in header]
    if "IID" not in names:
        raise DpgrsError(
            "iid-column-missing", f"`{path}` must have a column IID. Make it again: plink2 --make-just-psam"
        )
    return names.index("IID")


def _variant_columns(path: Path) -> tuple[dict[int, str], str, int]:
    """Return the columns of a table of variants by index, their separator, and the lines above the first."""
    first, n_skipped = _first_row(path)
    if path.suffix == ".bim":
        if len(first) not in _BIM:
            raise DpgrsError("plink-columns", f"`{path}` must have 6 columns, got {len(first)}. {COPY_AGAIN}")
        return dict(enumerate(_BIM[len(first)])), r"\s+", n_skipped
    if not set(_NEEDED) <= set(first):
        raise DpgrsError(
            "pvar-header-missing",
            f"`{path}` must have a line of {', '.join(_NEEDED)}. Make it again: plink2 --make-just-pvar",
        )
    return {first.index(name): _PVAR[name] for name in _PVAR if name in first}, "\t", n_skipped + 1


def _first_row(path: Path) -> tuple[list[str], int]:
    """Return the fields of the first line that is no comment (``##``), and the number of lines above it."""
    n_skipped = 0
    for n_skipped, line in enumerate(_lines(path)):
        if not line.startswith("##"):
            return line.split(), n_skipped
    raise DpgrsError("table-truncated", f"`{path}` is truncated after line {n_skipped + 1}. {COPY_AGAIN}")


def _lines(path: Path) -> Iterator[str]:
    require_file(path)
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from file


def _require_no_nul(path: Path) -> None:
    """Raise a ValueError if a file has a NUL, at which a cell ends for pandas 2, but not for pandas 3."""
    with path.open("rb") as file:
        if any(b"\0" in block for block in iter(partial(file.read, 2**20), b"")):
            raise ValueError


def _read_plain_table(
    path: Path, columns: Sequence[int], *, separator: str, n_skipped: int
) -> "pd.DataFrame":
    """Read the same of a table that pyarrow reads as pandas does, in a fifth of the time."""
    import pandas as pd

    from dpgrs.io.tables.plain_columns import NotPlainError, plain_columns

    with path.open("rb") as file:
        first = next(islice(file, n_skipped, None), b"").rstrip(b"\r\n")
    mark = "\t" if b"\t" in first else " "
    joins = separator != "\t"
    table_format = {"separator": mark, "n_columns": first.count(mark.encode()) + 1, "joins": joins}
    blocks = plain_columns(path, n_skipped=n_skipped, texts=columns, **table_format)
    column_blocks = [[column.to_pandas() for column in texts] for texts, _ in blocks]
    if not column_blocks or any((cells == "").any() for block in column_blocks for cells in block):
        raise NotPlainError
    joined_columns = [
        pd.concat(of_column, ignore_index=True) for of_column in zip(*column_blocks, strict=True)
    ]
    return pd.DataFrame(dict(zip(columns, joined_columns, strict=True)))


def _read_table(
    path: Path, columns: Sequence[int], *, separator: str, n_skipped: int, dtype: type = str
) -> "pd.DataFrame":
    """Read columns by their index as text; a short row is an error."""
    import pandas as pd  # takes 0.2 s, which the names of files do without

    from dpgrs.io.tables.plain_columns import NotPlainError

    with suppress(NotPlainError):
        return _read_plain_table(path, columns, separator=separator, n_skipped=n_skipped).astype(dtype)
    try:
        _require_no_nul(path)
        table = pd.read_csv(
            path,
            sep=separator,
            header=None,
            usecols=columns,
            skiprows=n_skipped,
            dtype=dtype,
            keep_default_na=False,
            na_values=[""],
            quoting=3,
        )
        if set(table) != set(columns):
            raise ValueError
    except pd.errors.EmptyDataError:
        return pd.DataFrame({column: pd.Series(dtype=str) for column in columns})
    except (pd.errors.ParserError, UnicodeDecodeError, ValueError) as error:
        raise DpgrsError(
            "table-not-text",
            f"`{path}` must be text in UTF-8 with the same columns in every line. {COPY_AGAIN}",
        ) from error
    is_short = table.isna().any(axis=1)
    if is_short.any():
        line = int(is_short.to_numpy().argmax()) + 1 + n_skipped
        raise DpgrsError("line-truncated", f"`{path}`, line {line}: the line is cut short. {COPY_AGAIN}")
    return table
