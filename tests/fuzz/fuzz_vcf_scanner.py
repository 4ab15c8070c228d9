"""Fuzzes the VCF scanner, led by coverage; see `make fuzz`.

Every input is read by the scanner as plain Python, which atheris follows, without the scanner (calls by
cyvcf2, dosages by Python's numbers), and by the compiled scanner in a second process. All must give the same
rows, counts and errors.
"""

import os
import subprocess
import sys
import tempfile
import warnings
from multiprocessing import Pipe
from pathlib import Path

import atheris

os.environ["NUMBA_DISABLE_JIT"] = "1"
with atheris.instrument_imports(include=["dpgrs.io", "dpgrs.genotypes.bits"]):
    from dpgrs.io import _dosage_kernels
    from dpgrs.io.vcf import _kernels as _vcf_kernels
    from fuzz.vcf_readings import MemoryText, guard, outcome, require_readable, share_parsers

from fuzz.corpus import fuzz
from fuzz.vcf_bodies import case_of, cross, mutate, seeds

MAX_BYTES = 8192


class CompiledReader:
    """The second process; see `fuzz.compiled_reader`."""

    def __init__(self, path):
        self._connection, theirs = Pipe()
        environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.compiled_reader", str(theirs.fileno()), str(path)],
            pass_fds=[theirs.fileno()],
            env=environment,
        )
        theirs.close()
        for seed in seeds():  # it compiles for seconds, which is no hang
            self.begin(case_of(seed))
            self.outcome()

    def begin(self, case):
        """Let it read a case."""
        self._connection.send(tuple(case))

    def outcome(self):
        """Return the outcome of the case that it began."""
        return self._connection.recv()


def main():
    guard(_vcf_kernels)
    guard(_dosage_kernels)
    share_parsers()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.vcf"
        compiled = CompiledReader(path)

        def read_all_ways(data):
            case = case_of(data)
            compiled.begin(case)
            whole = MemoryText(path, case._replace(n_bytes=len(case.text)))
            expected = outcome(whole, case, is_compiled=False)
            found = {
                "as plain Python": outcome(MemoryText(path, case), case, is_compiled=True),
                "compiled": compiled.outcome(),
            }
            require_readable(expected)
            require_same(case, expected, found)

        fuzz(
            read_all_ways,
            seeds(),
            name="vcf_scanner",
            max_bytes=MAX_BYTES,
            custom_mutator=lambda data, size, seed: mutate(data, size, seed, noise=atheris.Mutate),
            custom_crossover=cross,
        )


def require_same(case, expected, found):
    """Refuse a reading that differs from that without the scanner."""
    for name, result in found.items():
        if result != expected:
            raise AssertionError(f"{case}\nwithout it: {expected}\n{name}: {result}")


if __name__ == "__main__":
    main()
