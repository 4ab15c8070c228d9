"""Break a small release in every way of `FAULTS`, and write what was seen into a page: `make reliability`."""

import argparse
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from release_studies import released_site
from reliability.broken_runs import PEOPLE, STUDY, VARIABLES, Whole, keep_ledger
from reliability.faults import FAULTS, can_mount, fill_disk, limit_files
from study_runs import REPOSITORY

PAGE = REPOSITORY / "docs" / "reliability.md"
BEGIN, END = "<!-- What follows is written by `make reliability`. -->\n", "<!-- Up to here. -->\n"
HEAD = "| fault | where | seen |\n| --- | --- | --- |\n"


def row(name, seen):
    """Return a line of the table; what should not be stands in bold."""
    said = "; ".join(part for part in (seen.said, *(f"**{error}**" for error in seen.errors)) if part)
    cells = (cell.replace("|", "/").replace("\n", " ") for cell in (name, seen.point, said))
    return f"| {' | '.join(cells)} |\n"


def write_page(page, text):
    """Put text into the place of what an earlier run wrote into a page."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def _commit():
    def git(*words):
        return subprocess.run(
            ["git", "-C", REPOSITORY, *words], capture_output=True, text=True
        ).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return f"{git('rev-parse', '--short', 'HEAD')}{' with changes' if changed else ''}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1, help="public, of the points")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page that is written into")
    parser.add_argument("faults", nargs="*", help="numbers of faults from 1 on; none means all")
    options = parser.parse_args()
    names = [list(FAULTS)[int(number) - 1] for number in options.faults] or list(FAULTS)
    commit, begun = _commit(), datetime.now(UTC)
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as patch:
        for name, value in VARIABLES.items():
            patch.setenv(name, value)
        site = Path(scratch, "whole")
        site.mkdir()
        has_disks = can_mount(Path(scratch, "disk"))
        with released_site(site, STUDY, people=PEOPLE, prepare=keep_ledger):
            whole, lines, bad = Whole(site), [], 0
            for place, name in enumerate(names):
                points_of, fault = FAULTS[name]
                if fault is fill_disk and not has_disks:
                    fault = limit_files
                for seen in fault(whole, Path(scratch, str(place)), points_of(whole, options.seed)):
                    bad += bool(seen.errors)
                    lines.append(row(name, seen))
                    print(lines[-1], end="", file=sys.stderr, flush=True)
                # After each: a command that is ended leaves what it saw.
                text = _head(options.seed, commit, begun, names[: place + 1], bad)
                write_page(options.page, f"{text}\n\n{HEAD}{''.join(lines)}")
    sys.exit(bool(bad))


def _head(seed, commit, begun, names, bad):
    ended = datetime.now(UTC)
    minutes = round((ended - begun).total_seconds() / 60)
    run = "all faults" if len(names) == len(FAULTS) else f"{len(names)} of {len(FAULTS)} faults"
    found = "nothing" if not bad else f"{bad} findings, in bold"
    return (
        f"Seen at commit {commit}, seed {seed}, {ended:%Y-%m-%d %H:%M} UTC, in {minutes} minutes: {run}, and "
        f"{found} that should not be."
    )


if __name__ == "__main__":
    main()
