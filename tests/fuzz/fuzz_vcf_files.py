"""Fuzzes what lies under the VCF scanner, led by coverage: damaged indices and damaged BGZF; see `make fuzz`.

An input is a byte that says what it is, and then a whole file: an index (as it is, or before compression) of
a VCF that is intact, or a VCF in BGZF, with or without the index of the intact one. The reader must give the
right rows or an error. Without an index, right is also what Python's gzip makes of the file.
"""

import gzip
import random
import tempfile
import warnings
import zlib
from functools import partial
from pathlib import Path

import atheris
import pysam

# Functions that atheris follows cannot be compiled, and these are not looked at here.
with atheris.instrument_imports(
    include=["dpgrs.io"],
    exclude=[
        *("dpgrs.io.vcf._kernels", "dpgrs.io._dosage_kernels"),
        "dpgrs.genotypes.bits",
    ],
):
    from dpgrs.io.vcf.text import ContigText
    from fuzz.vcf_readings import CONTIG, MemoryText, outcome, require_readable

from fuzz.corpus import fuzz
from fuzz.vcf_bodies import case_of
from vcf_files import record, vcf_text

MAX_BYTES = 4096
LINES_PER_BLOCK = 7
KINDS = ("tbi", "csi", "packed tbi", "packed csi", "vcf", "vcf with tbi", "vcf with csi")
INTEGERS = (0, -1, -2, -16, 1, 2, 3, 5, 6, 10, 16, 1000, 2**16, 2**24, 2**31 - 1, -(2**31))
CASE = case_of(bytes([0, 0, 3, 0]))


class Files:
    """An intact VCF of three contigs and small blocks with both indices, and a copy to be damaged."""

    def __init__(self, folder):
        self.copy = folder / "a.vcf.gz"
        lines = [
            record(i, f"0|{i % 2} {i // 2 % 2}|1 0|.", contig=contig)
            for contig in ("2", CONTIG, "21")
            for i in range(1, 21)
        ]
        text = vcf_text(*lines, contigs=("2", CONTIG, "21")).splitlines(keepends=True)
        with pysam.BGZFile(str(self.copy), "wb") as file:
            for i in range(0, len(text), LINES_PER_BLOCK):
                file.write("".join(text[i : i + LINES_PER_BLOCK]).encode())
                file.flush()
        self.vcf = self.copy.read_bytes()
        self.indices = {}
        for suffix in ("tbi", "csi"):
            pysam.tabix_index(
                str(self.copy), preset="vcf", csi=suffix == "csi", keep_original=True, force=True
            )
            self.indices[suffix] = self._index(suffix).read_bytes()
            self._index(suffix).unlink()

    def seeds(self):
        """Yield an input of every kind, with nothing damaged."""
        for number, kind in enumerate(KINDS):
            if kind.startswith("vcf"):
                yield bytes([number]) + self.vcf
            else:
                index = self.indices[kind[-3:]]
                yield bytes([number]) + (index if kind.startswith("packed") else gzip.decompress(index))

    def put(self, kind, content):
        """Lay out the files of a kind, with the content in the place of what is damaged."""
        for suffix in self.indices:
            self._index(suffix).unlink(missing_ok=True)
        self.copy.write_bytes(content if kind.startswith("vcf") else self.vcf)
        if kind != "vcf":
            intact = self.indices[kind[-3:]]
            damaged = content if kind.startswith("packed") else gzip.compress(content, compresslevel=1)
            self._index(kind[-3:]).write_bytes(intact if kind.startswith("vcf") else damaged)

    def _index(self, suffix):
        return self.copy.with_name(f"{self.copy.name}.{suffix}")


def main():
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder))

        def right(content):
            try:
                text = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
            except (OSError, EOFError, zlib.error):
                return None
            return outcome(MemoryText(files.copy, CASE._replace(text=text)), CASE, is_compiled=False)

        intact = right(files.vcf)

        def read(data):
            kind, content = KINDS[data[0] % len(KINDS)] if data else "vcf", data[1:]
            files.put(kind, content)
            found = outcome(lambda: ContigText(files.copy, CONTIG), CASE, is_compiled=True, n_bytes=300)
            require_readable(found)
            expected = [intact, right(content)] if kind == "vcf" else [intact]
            if not isinstance(found, str) and found not in expected:
                raise AssertionError(f"damaged {kind}: {found}\nright: {expected[-1]}")

        fuzz(
            read,
            files.seeds(),
            name="vcf_files",
            max_bytes=MAX_BYTES,
            custom_mutator=partial(damaged, intact=list(files.seeds())),
        )


def damaged(data, max_size, seed, *, intact):
    """Return an input, or an intact one, with one to three changes, many of them of integers."""
    rng = random.Random(seed)
    if len(data) < 2 or rng.random() < 0.5:
        data = rng.choice(intact)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(1, len(data) + 1)
        number = int.from_bytes(data[at : at + 4], "little", signed=True)
        number = rng.choice([*INTEGERS, number + rng.randint(-20, 20)]) % 2**32
        changes = [
            data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
            data[:at] + number.to_bytes(4, "little") + data[at + 4 :],
            data[:at] + number.to_bytes(4, "little") + data[at + 4 :],
            data[:at] + bytes(rng.randint(1, 4)) + data[at + 4 :],
            data[:at] + data[at + rng.randint(1, 100) :],
            atheris.Mutate(data, max_size),
        ]
        data = rng.choice(changes)
    return data[:max_size]


if __name__ == "__main__":
    main()
