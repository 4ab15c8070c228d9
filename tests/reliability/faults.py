"""What may go wrong in a run, at points that a public seed draws, and how a user goes on.

Each fault is a function of the whole run, a new folder and its points. It breaks one study at each point in
turn, yields what was seen, and ends with a run that nothing is done to, which is compared with the whole run.
"""

import subprocess
from contextlib import contextmanager
from typing import NamedTuple

from dpgrs.io.files import remove
from dpgrs.public_random import generator
from reliability.broken_runs import REPLICATE, RESULTS, Running, flip, move_times, rerun, take_away
from study_runs import CLOCK_OFF, KILL_AT

N_KILLS, DAY = 20, 86_400
ROOM = 2**28  # bytes of a disk with room
SHARDS = REPLICATE / "shards"
SHARD_JOBS = "compute_statistics/"
# What is damaged, the last first, and what is taken away so that a job reads it again.
DAMAGED = {
    REPLICATE / "drawn" / "reusecov-statistics.npz": REPLICATE / "weights.npz",
    REPLICATE / "statistics.npz": REPLICATE / "drawn",
    REPLICATE / "outcomes.zarr": REPLICATE / "statistics.npz",
    RESULTS / "private" / "variants.zarr": REPLICATE / "outcomes.zarr",
}
LOCKED = "Directory cannot be locked"


class Seen(NamedTuple):
    """What was seen at a point.

    Attributes
    ----------
    point : str, where a fault was.
    said : str, what came of it.
    errors : list of str, what should not be.
    """

    point: str
    said: str
    errors: list


def kill_points(whole, seed):
    """Draw what ends, all or one job, in which job and at which share of it, in the order of the run."""
    random = generator(seed, "reliability", "kill")
    pairs = [(kind, job) for job in whole.jobs for kind in ("all", "job")]
    chosen, shares = random.permutation(len(pairs))[:N_KILLS], random.random(N_KILLS)
    points = [(*pairs[place], share) for place, share in zip(chosen, shares, strict=True)]
    return sorted(points, key=lambda point: (whole.jobs.index(point[1]), point[2]))


def kill(whole, folder, points):
    """End Snakemake and all its jobs, or one job, by SIGKILL, one time after the other."""
    whole.new(folder)
    for kind, job, share in points:
        running = Running(folder)
        running.wait_for(job, share)
        if kind == "all":
            ended = running.end_all()
            yield Seen(_moment(job, share), f"run ended by SIGKILL with {_names(ended)}", [])
            rerun(folder, "--unlock")
            continue
        ended = running.end_job(job.name)
        status, console = running.finish()
        said = [f"Error in rule {str(ended).partition('/')[0]}:", *_of_charge(console)]
        said = [line for line in said if line in console]
        errors = [] if status == 1 and len(said) == 2 else ["no clear error"]
        yield Seen(_moment(job, share), f"job {_names([ended])} ended by SIGKILL: {_quoted(said)}", errors)
    yield _end(whole, folder)


def orphan_points(whole, seed):
    """Choose a shard, and the job that draws."""
    shard = next(job for job in whole.jobs if job.name.startswith(SHARD_JOBS))
    return [
        (shard, REPLICATE / "statistics.npz"),
        (whole.job("draw/1.reusecov-statistics"), REPLICATE / "drawn"),
    ]


def orphan(whole, folder, points):
    """End Snakemake by SIGKILL within a job, which goes on, and run again at once."""
    whole.done(folder)
    for job, output in points:
        take_away(folder, output)
        running = Running(folder)
        running.wait_for(job, 0.3)
        left = list(running.jobs())
        running.end_snakemake()
        rerun(folder, "--unlock")
        status, console = rerun(folder)
        running.wait_for_others()
        failed = [line.strip() for line in console.splitlines() if line.startswith("Error in rule")]
        errors = [] if status == 0 or failed else ["no clear error"]
        said = f"{_names(left)} went on; the next run: {_quoted(failed) if status else 'done'}"
        yield Seen(_moment(job, 0.3), said, errors)
    yield _end(whole, folder)


def disk_points(whole, seed):
    """Draw shares of what a run writes for which there is room."""
    return sorted(generator(seed, "reliability", "disk").random(3).tolist())


def fill_disk(whole, folder, points):
    """Run on a disk that grows each time it was full."""
    with _small_disk(folder) as resize:
        root = whole.new(folder / "site")
        needed = _pages(whole.folder) - _pages(root)
        start = _pages(root)
        for share in points:
            # What runs that failed have left may be more than the share.
            resize(max(start + int(share * needed), _pages(root)))
            yield _without_room(*rerun(root), f"room for {share:.0%}", "No space left on device")
            resize(ROOM)
            if LOCKED in rerun(root, "--dry-run")[1]:
                rerun(root, "--unlock")
        yield _end(whole, root)


def limit_files(whole, folder, points):
    """Run where the system lets no file grow beyond a size: at a share of the files of a run, by size."""
    whole.new(folder)
    sizes = sorted(path.stat().st_size for path in (whole.folder / RESULTS).rglob("*") if path.is_file())
    for share in points:
        limit = sizes[int(share * len(sizes))]
        running = Running(folder, largest_file=limit)
        yield _without_room(*running.finish(), f"files of {limit} bytes at most", "File too large")
        rerun(folder, "--unlock")
    yield _end(whole, folder)


def _without_room(status, console, point, words):
    said = [line for line in (words, *_of_charge(console)) if line in console]
    errors = [] if status and words in said else ["no clear error"]
    return Seen(point, f"exit {status}: {_quoted(said)}", errors)


def shard_points(whole, seed):
    """Draw shards and places in their files."""
    return generator(seed, "reliability", "shard").random((3, 2)).tolist()


def damage_shard(whole, folder, points):
    """Flip a bit of a shard's file before shards are added."""
    whole.done(folder)
    for number, place in points:
        take_away(folder, REPLICATE / "statistics.npz")
        rerun(folder, **{KILL_AT: "dpgrs.steps.add_statistics.added"})
        shards = sorted((folder / SHARDS).iterdir())
        path = shards[int(number * len(shards))].relative_to(folder)
        yield _damaged(folder, path, path, place)
    yield _end(whole, folder)


def file_points(whole, seed):
    """Draw places in the files that lie between jobs."""
    places = generator(seed, "reliability", "file").random((len(DAMAGED), 2)).tolist()
    return [(name, *place) for name, place in zip(DAMAGED, places, strict=True)]


def damage_file(whole, folder, points):
    """Flip a bit of what lies between two jobs, and let the second run again."""
    whole.done(folder)
    for name, number, place in points:
        path = folder / name
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.is_file() and one.stat().st_size)
            path = inside[int(number * len(inside))]
        take_away(folder, DAMAGED[name])
        yield _damaged(folder, name, path.relative_to(folder), place)
    yield _end(whole, folder)


def _damaged(folder, name, path, place):
    """Flip a bit, run, and take away what the run says is damaged, or what it was made of in silence."""
    flip(folder / path, place)
    status, console = rerun(folder)
    said = [line for line in console.splitlines() if line.strip().startswith("dpgrs: ") and str(name) in line]
    errors = [] if status == 0 or said else ["no error that names it"]
    remove(folder / name)
    return Seen(f"`{path}` at {place:.0%}", _quoted(said[:1]) if status else "not noticed", errors)


def clock_points(whole, seed):
    """All there are."""
    return ["genotypes of tomorrow", "back two days", "ahead two days", "times of results moved by a day"]


def move_clocks(whole, folder, points):
    """Move times of files, or the clock of all processes against those of the file system and the ledger."""
    whole.new(folder)
    move_times(folder / "cohort", DAY)
    status, console = rerun(folder)
    older = "has older modification time"
    # What follows are times and places of this machine.
    said = [line.partition(" (")[0] for line in console.splitlines() if older in line]
    errors = [] if status == 1 and said else ["no clear error"]
    yield Seen(points[0], f"exit {status}: {_quoted(said[:1])}", errors)
    move_times(folder / "cohort", -DAY)
    rerun(folder, **{KILL_AT: "dpgrs.steps.draw.complete"})
    for point, sign, place in ((points[1], -1, "fit_weights.seal"), (points[2], 1, None)):
        variables = {CLOCK_OFF: str(2 * sign * DAY)} | ({KILL_AT: f"dpgrs.steps.{place}"} if place else {})
        status, _ = rerun(folder, **variables)
        said = "gone on from the charge, and killed in the fit" if place else "gone on to the end"
        yield Seen(point, said, ["another exit"] if status != bool(place) else [])
    move_times(folder / RESULTS, DAY)
    status, _ = rerun(folder)
    yield Seen(points[3], "gone on to the end", ["another exit"] if status else [])
    yield _end(whole, folder)


def pair_points(whole, seed):
    """Options of both runs."""
    return [(), ("--nolock",)]


def run_twice(whole, folder, points):
    """Start a second run while the first sums shards."""
    whole.done(folder)
    for options in points:
        take_away(folder, REPLICATE / "statistics.npz")
        running = Running(folder, *options)
        running.wait_for(next(job for job in whole.jobs if job.name.startswith(SHARD_JOBS)))
        second, console = rerun(folder, *options)
        first, _ = running.finish()
        of_rule = ("Error in rule", "WorkflowError in rule")
        said = [line for line in console.splitlines() if LOCKED in line or line.startswith(of_rule)]
        is_clear = said or second == 0
        errors = [] if is_clear and (options or (first == 0 and second)) else ["no clear error"]
        point = f"both with `{options[0]}`" if options else "as they are"
        yield Seen(point, f"first: exit {first}; second: exit {second}, {_quoted(said[:1])}", errors)
    yield _end(whole, folder)


def _end(whole, folder):
    """Run to the end, as a user would, and compare with the whole run."""
    status, console = rerun(folder)
    errors = [f"it failed: {console[-3000:]}"] if status else whole.differences(folder)
    times = {0: "not drawn", 1: "drawn once"}
    drawn = whole.n_drawn(folder)
    noise = times.get(drawn, f"drawn {drawn} times, always the same")
    said = "" if errors else f"the bundle is the same bytes, charged once, its noise {noise}"
    return Seen("then run to its end", said, errors)


def _of_charge(console):
    """Return the line of a failed run that says what was charged, as a list of one or none."""
    return [line for line in console.splitlines() if "charged" in line.lower() and "epsilon" in line][-1:]


def _moment(job, share):
    return f"`{job.name}`, {share:.0%} of its time"


def _names(jobs):
    return ", ".join(f"`{name}`" for name in jobs if name) or "no job"


def _quoted(lines):
    return " ".join(f"“{line.strip().removeprefix('dpgrs: ')}”" for line in lines) or "nothing"


def _pages(folder):
    """Return the bytes that files take on a disk in memory."""
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in folder.rglob("*") if path.is_file())


def can_mount(folder):
    """Tell whether this process may mount a disk in memory; `folder` is made for it."""
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True).returncode:
        return False
    subprocess.run(["umount", folder], check=True)
    return True


@contextmanager
def _small_disk(folder):
    """Give a function that sets the size of a disk in memory at a folder."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True)

    def resize(size):
        subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)

    try:
        yield resize
    finally:
        subprocess.run(["umount", folder], check=True)


FAULTS = {
    "`kill -9`": (kill_points, kill),
    "`kill -9` of Snakemake alone": (orphan_points, orphan),
    "full disk": (disk_points, fill_disk),
    "damaged shard": (shard_points, damage_shard),
    "damaged file between jobs": (file_points, damage_file),
    "clock that is off": (clock_points, move_clocks),
    "two runs in one folder": (pair_points, run_twice),
}
