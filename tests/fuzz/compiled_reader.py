"""The compiled scanner as a process of its own: it reads what the fuzzer sends, and answers.

A case without an index is read from a file, by all of the code that a user's file meets.
"""

import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from dpgrs.io.vcf.text import ContigText
from fuzz.vcf_bodies import Case
from fuzz.vcf_readings import CONTIG, MemoryText, outcome, share_parsers

LEAST_BLOCK = 50  # each block of a file goes through a thread, which takes time


def main():
    share_parsers()
    connection, path = Connection(int(sys.argv[1])), Path(sys.argv[2])
    while True:
        try:
            case = Case(*connection.recv())
        except EOFError:
            return
        try:
            answer = _read(path, case)
        except Exception:  # the fuzzer takes it for a find
            answer = traceback.format_exc()
        connection.send(answer)


def _read(path, case):
    if case.is_indexed:
        return outcome(MemoryText(path, case), case, is_compiled=True)
    path.write_bytes(case.text)
    n_bytes = max(case.n_bytes, LEAST_BLOCK)
    return outcome(lambda: ContigText(path, CONTIG), case, is_compiled=True, n_bytes=n_bytes)


if __name__ == "__main__":
    main()
