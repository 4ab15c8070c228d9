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

PAGE = REPOSITORY / "docs" / "measurements" / "reliability.md"
BEGIN, END = "<!-- What follows is written by `make reliability`. -->\n", "<!-- Up to here. -->\n"
TITLE = "### "
HEAD = "| where | seen |\n| --- | --- |\n"


def row(seen):
    """Return a line of a table; what should not be stands in bold."""
    said = "; ".join(part for part in (seen.said, *(f"**{error}**" for error in seen.errors)) if part)
    cells = (cell.replace("|", "/").replace("\n", " ") for cell in (seen.point, said))
    return f"| {' | '.join(cells)} |\n"


def sections(text):
    """Return what stands below each title, a dict of str by title."""
    parts = (part.partition("\n") for part in text.split(f"\n{TITLE}")[1:])
    return {title: body.strip("\n") for title, _, body in parts}


def write_page(page, title, body):
    """Put what was seen of one fault into the place of what an earlier run wrote."""
    before, _, rest = page.read_text().partition(BEGIN)
    written, _, after = rest.partition(END)
    found = sections(written) | {title: body.strip("\n")}
    text = "".join(f"\n{TITLE}{name}\n\n{found[name]}\n" for name in FAULTS if name in found)
    page.write_text(f"{before}{BEGIN}{text}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1, help="public, of the points")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page that is written into")
    parser.add_argument("faults", nargs="*", type=int, help="numbers of faults from 1 on; none means all")
    options = parser.parse_args()
    names = [list(FAULTS)[number - 1] for number in options.faults] or list(FAULTS)
    commit, bad, found = _commit(), 0, {}
    with tempfile.TemporaryDirectory() as scratch, pytest.MonkeyPatch.context() as patch:
        for name, value in VARIABLES.items():
            patch.setenv(name, value)
        site = Path(scratch, "whole")
        site.mkdir()
        has_disks = can_mount(Path(scratch, "disk"))
        with released_site(site, STUDY, people=PEOPLE, prepare=keep_ledger, is_measured=True):
            whole = Whole(site)
            for place, name in enumerate(names):
                points_of, fault = FAULTS[name]
                if fault is fill_disk and not has_disks:
                    fault = limit_files
                print(name, file=sys.stderr)
                lines = []
                for seen in fault(whole, Path(scratch, str(place)), points_of(whole, options.seed)):
                    bad += bool(seen.errors)
                    lines.append(row(seen))
                    print(lines[-1], end="", file=sys.stderr, flush=True)
                when = f"Commit {commit}, seed {options.seed}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."
                found[name] = f"{when}\n\n{HEAD}{''.join(lines)}"
    # Not before, since a bundle says whether files of its commit were changed.
    for name, body in found.items():
        write_page(options.page, name, body)
    sys.exit(bool(bad))


def _commit():
    def git(*words):
        command = ["git", "-C", REPOSITORY, *words]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return f"{git('rev-parse', '--short', 'HEAD')}{' with changes' if changed else ''}"


if __name__ == "__main__":
    main()
