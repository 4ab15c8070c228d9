"""Starts libFuzzer with seeds, and keeps corpus and finds in `.fuzz/` beside the Makefile."""

import hashlib
import sys
from pathlib import Path

import atheris

FOLDER = Path(__file__).resolve().parents[2] / ".fuzz"
SECONDS_PER_INPUT = 5
MEGABYTES = 2048  # under atheris, memory grows by some 5 kB an input


def fuzz(target, seeds, *, name, max_bytes, **mutators):
    """Fuzz until the first find, or as long as libFuzzer's options on the command line say.

    Parameters
    ----------
    target : function of bytes, that raises for a find.
    seeds : iterable of bytes, inputs to begin with.
    name : str, of the folder for corpus and finds.
    max_bytes : int, length of the longest input.
    **mutators : of `atheris.Setup`.
    """
    corpus, finds = FOLDER / name / "corpus", FOLDER / name / "finds"
    for folder in (corpus, finds):
        folder.mkdir(parents=True, exist_ok=True)
    for data in seeds:
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    options = [f"-max_len={max_bytes}", "-len_control=0", f"-timeout={SECONDS_PER_INPUT}"]
    options += [f"-rss_limit_mb={MEGABYTES}"]
    options += [f"-artifact_prefix={finds}/", "-print_final_stats=1"]
    inputs = [] if any(not option.startswith("-") for option in sys.argv[1:]) else [str(corpus)]
    atheris.Setup([sys.argv[0], *options, *sys.argv[1:], *inputs], target, **mutators)
    atheris.Fuzz()
