"""A whole release and its replay under several versions of Snakemake: all must make the same bytes,
but for the version of Snakemake that a bundle states.

`python -m snakemake_versions PYTHON...`, each with its own Snakemake, is what `make test-snakemake-versions`
runs.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dpgrs.privacy.ledger import hash_chain
from dpgrs.simulation.cohorts import simulate_cohort
from every_process.stopped_clock import StoppedClock
from release_studies import SHORT_RELEASE, make_key, make_ledger
from study_runs import command, environment, results

# Quotes and braces of `--config` reach the jobs.
OVERRIDES = ("--config", 'variants={"size": 20}')


def main(pythons):
    """Run the release with each Python; return 1 where one differs from the first."""
    hash_chain.datetime = StoppedClock
    expected = None
    with tempfile.TemporaryDirectory() as top:
        site = Path(top, "site")
        site.mkdir()
        make_key(site)
        make_ledger(site / "ledger.jsonl")
        options = {"chromosomes": ["21"], "people": 60, "length": 100_000, "seed": 5}
        simulate_cohort(site / "cohort", reference=site / "reference", reference_people=60, **options)
        for number, python in enumerate(pythons):
            folder = Path(shutil.copytree(site, Path(top, f"run{number}")))
            version = _snakemake(python, "--version")
            settings = SHORT_RELEASE | {"variants": {"size": 10}}
            _, *given = command(folder, settings, *OVERRIDES)
            for more, said in (
                ([], "Charged: epsilon 2"),
                (["--forceall"], "Replayed: nothing was charged"),
                ([], "Replayed: nothing was charged"),
            ):
                console = _snakemake(python, *given, *more)
                if said not in console:
                    print(f"{console}\nSnakemake {version.strip()} must say: {said}")
                    return 1
                found = _made(folder)
                expected = expected or found
                if other := [name for name in found | expected if found.get(name) != expected.get(name)]:
                    print(f"Snakemake {version.strip()} made other bytes: {', '.join(other)}")
                    return 1
            print(f"Snakemake {version.strip()}: {len(found)} files, released and replayed twice", flush=True)
    return 0


def _made(folder):
    """Return all that a release made, and the ledger; of a bundle without the versions that it states."""
    found = results(folder, "release") | {"ledger": (folder / "ledger.jsonl").read_bytes()}
    bundle = folder / "results" / "release" / "release"
    stated = json.loads((bundle / "provenance.json").read_text())
    del stated["libraries"]["snakemake"]
    # The statement has the digest of that file, and the list of all files those of both.
    for name in ("provenance.json", "privacy_statement.json"):
        digest = hashlib.sha256((bundle / name).read_bytes()).hexdigest().encode()
        for one in ("release/privacy_statement.json", "release/SHA256SUMS"):
            found[one] = found[one].replace(digest, name.encode())
    return found | {"release/provenance.json": json.dumps(stated, sort_keys=True).encode()}


def _snakemake(python, *arguments):
    given = [python, "-m", "snakemake", *map(str, arguments)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    end = subprocess.run(given, **streams, text=True, env=environment(), check=False)
    if end.returncode:
        print(end.stdout)
        sys.exit(1)
    return end.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
