"""Small BGEN files for tests, written from the specification and by none of our own code."""

import sqlite3
import struct
import zlib
from contextlib import closing
from itertools import chain

import numpy as np
from numcodecs.zstd import Zstd

PLAIN, ZLIB, ZSTD = range(3)
PACK = {PLAIN: bytes, ZLIB: zlib.compress, ZSTD: Zstd().encode}


def text(value, form="<H"):
    value = value.encode()
    return struct.pack(form, len(value)) + value


def variant(position, values, *, alleles=("A", "C"), contig="1", id_=".", n_bits=8, **terms):
    """Return what `write_bgen` takes.

    `values` are those that are stored, in whole numbers, by sample; of 8 bits perhaps an array of uint8.
    Terms are is_phased, and ploidy, by sample, to which 128 is added where missing.
    """
    return {
        "head": (contig, position, id_, alleles),
        "values": values,
        "n_bits": n_bits,
        "is_phased": terms.get("is_phased", True),
        "ploidy": terms.get("ploidy", [2] * len(values)),
    }


def probabilities(one):
    """Return the probabilities of a variant before they are compressed."""
    values = one["values"]
    if one["n_bits"] == 8:
        packed = values.tobytes() if isinstance(values, np.ndarray) else bytes(chain.from_iterable(values))
    else:
        bits = "".join(format(value, f"0{one['n_bits']}b")[::-1] for sample in values for value in sample)
        packed = bytes(int(bits[at : at + 8].ljust(8, "0")[::-1], 2) for at in range(0, len(bits), 8))
    copies = [number & 63 for number in one["ploidy"]]
    head = struct.pack("<IHBB", len(copies), len(one["head"][3]), min(copies), max(copies))
    return head + bytes(one["ploidy"]) + bytes([one["is_phased"], one["n_bits"]]) + packed


def write_bgen(
    path, variants, *, samples=("A", "B", "C"), has_ids=True, compression=ZLIB, layout=2, n_variants=None
):
    """Write a BGEN; return its path. `n_variants` is what its head says, if not the truth."""
    n_variants = len(variants) if n_variants is None else n_variants
    flags = compression | layout << 2 | has_ids << 31
    head = struct.pack("<III4sI", 20, n_variants, len(samples), b"bgen", flags)
    if has_ids:
        ids = b"".join(text(name) for name in samples)
        head += struct.pack("<II", 8 + len(ids), len(samples)) + ids
    content = struct.pack("<I", len(head)) + head
    for one in variants:
        contig, position, id_, alleles = one["head"]
        content += text("v") + text(id_) + text(contig) + struct.pack("<IH", position, len(alleles))
        content += b"".join(text(allele, "<I") for allele in alleles)
        whole = probabilities(one)
        size = b"" if compression == PLAIN else struct.pack("<I", len(whole))
        packed = size + PACK[compression](whole)
        content += struct.pack("<I", len(packed)) + packed
    path.write_bytes(content)
    return path


def write_sample(path, rows, *, names="ID_1 ID_2 missing", types="0 0 0"):
    """Write a table of samples."""
    path.write_text("\n".join([names, types, *rows]) + "\n")
    return path


def write_index(path, starts):
    """Write the index of bgenix; `starts` are (start of the variant, contig, position)."""
    index = path.with_name(f"{path.name}.bgi")
    index.unlink(missing_ok=True)
    with closing(sqlite3.connect(index)) as database:
        database.execute("CREATE TABLE Metadata (filename, file_size, last_write_time, first_1000_bytes)")
        head = path.read_bytes()[:1000]
        database.execute("INSERT INTO Metadata VALUES (?, ?, 0, ?)", (path.name, path.stat().st_size, head))
        database.execute("CREATE TABLE Variant (file_start_position, chromosome, position)")
        database.executemany("INSERT INTO Variant VALUES (?, ?, ?)", starts)
        database.commit()
    return index
