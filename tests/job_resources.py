"""What the jobs of a study asked for, beside what they took."""

import re
from math import nan

import pandas as pd

from study_runs import run

# Memory is NaN of a job that ended before Snakemake looked at it, and 0 of one that was just ending.
MIB = 2**20 / 10**6
LOOKED_AT = 5  # seconds from which on a benchmark sees about all of a job


def asked_and_used(folder, settings, *targets):
    """Return a line for each job of a study that was run in `folder`: memory in MB, time in minutes.

    `targets` are what was made; none: what a study makes if it is asked for nothing else.

    What was asked for is told by a dry run; what was used by the benchmarks.
    """
    plan = run(folder, settings, *targets, "--dry-run", "--forceall").stdout
    found = re.findall(r"benchmark: (\S+)\n(?: +.*\n)*? +resources: (.*)", plan)
    assert found, plan
    lines = []
    for path, resources in dict(found).items():
        asked = {name: int(re.search(rf"\b{name}=(\d+)", resources)[1]) for name in ("mem_mb", "runtime")}
        (took,) = pd.read_csv(folder / path, sep="\t").to_dict("records")
        used = took["max_rss"] * MIB or nan
        lines.append(
            {
                "job": re.sub(r".*benchmarks/|\.tsv$", "", path),
                "asked": asked["mem_mb"],
                "used": used,
                "ratio": asked["mem_mb"] / used,
                "minutes": asked["runtime"],
                "took": took["s"] / 60,
            }
        )
    return pd.DataFrame(lines)


def require_enough(table, *, most=4.0, beyond=500):
    """Fail if a job took more than it asked for, or asked for many times what it took; print the table.

    Of jobs of a few seconds the second is not asked: their memory is looked at every half second, and that of
    workers which live shortly is missed.
    """
    print(table.round(2).to_string(index=False))
    seen = table.dropna()
    assert len(seen) > len(table) / 2
    assert (seen["ratio"] >= 1).all()
    assert (seen["took"] <= seen["minutes"]).all()
    is_long = (seen["asked"] > beyond) & (seen["took"] > LOOKED_AT / 60)
    assert (seen.loc[is_long, "ratio"] <= most).all()
