"""Commands of steps, run one after the other in one process: ``python -m steps_in_turn FILE``.

The file holds the commands as a list of shell words each, as JSON. Standard error of each is joined to the
file that its words ``2>`` name. The first command that fails ends all with its status. A leak can be planted
before the first (`planted_leaks.py`).
"""

import json
import os
import sys
from pathlib import Path

from planted_leaks import LEAK, plant

from dpgrs.cli.main import main


def run(words):
    """Run one command; return its exit status."""
    *words, _, log = words
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    try:
        main(words[words.index("dpgrs") + 1 :])
    except SystemExit as end:
        return end.code or 0
    return 0


if __name__ == "__main__":
    if LEAK in os.environ:
        plant(os.environ[LEAK])
    for command in json.loads(Path(sys.argv[1]).read_text()):
        if status := run(command):
            sys.exit(status)
