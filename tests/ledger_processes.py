"""Programs that the tests of the ledger run as processes of their own, since they are killed or compete."""

import fcntl
import itertools
import json
import os
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.ledger.entries import make_budget
from dpgrs.privacy.ledger.hash_chain import repair
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.ledger.verify import verify_ledger
from ledger_requests import ACCOUNT, DATASET, OUTPUT, reserve

# Between two of these calls nothing outside the process changes, so a kill before each is a kill anywhere.
CALLS = [(os, name) for name in ("open", "write", "fsync", "replace", "close")] + [(fcntl, "flock")]


def compete(path, study, count):
    """Reserve `count` releases of a study's own and one that all studies share; print ids and refusals."""
    print("ready", flush=True)
    sys.stdin.readline()
    ledger, ids, refusals = Ledger(path), [], 0
    shared = reserve(ledger, mu="0.1", dataset_version="shared")
    for number in range(int(count)):
        try:
            ids.append(reserve(ledger, mu="0.1", study=study, number=number))
            ledger.complete(ids[-1], OUTPUT)
        except DpgrsError:
            refusals += 1
    print(json.dumps({"shared": shared, "ids": ids, "refusals": refusals}))


def release(folder):
    """Make one release as a user would, picking up whatever an earlier attempt left."""
    ledger = Ledger(folder / "cohort.jsonl")
    with suppress(UsageError):  # begun by an earlier attempt
        ledger.create(**DATASET)
    if ACCOUNT not in ledger.read().budgets:
        ledger.open_account(ACCOUNT, make_budget(delta="1e-6", mu_squared="0.25"))
    request_id = reserve(ledger)  # the budget does not allow it twice
    (folder / f"drawn.{request_id}").touch()
    ledger.complete(request_id, OUTPUT)


def arm(at, how):
    """Let call number `at` of the system kill this process, before it or (writes alone) halfway through."""
    count = itertools.count()

    def wrapped(call):
        def run(*arguments):
            if next(count) != at:
                return call(*arguments)
            if how == "torn":
                call(arguments[0], arguments[1][: len(arguments[1]) // 2])
            return os.kill(os.getpid(), signal.SIGKILL)

        return run

    for module, name in CALLS:
        if name == "write" or how == "before":
            setattr(module, name, wrapped(getattr(module, name)))


def kill_and_rerun(folder, at, how):
    """Kill a release at one call and make it again; return what was found, or None if it had no such call."""
    child = os.fork()
    if child == 0:
        arm(at, how)
        release(folder)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        return None
    ledger = Ledger(folder / "cohort.jsonl")
    found = {"how": how, "at": at, "drawn": draws(folder), "error": refusal(ledger)}
    found["cut"] = repair(ledger.path) if ledger.path.exists() else 0
    found["reserved"] = list(ledger.read().requests) if found["drawn"] else []
    release(folder)
    book = ledger.read()
    return found | {
        "counts": verify_ledger(ledger.path),
        "spent": str(book.spent(ACCOUNT).mu_squared),
        "requests": list(book.requests),
        "draws": draws(folder),
    }


def refusal(ledger):
    """Return why a ledger cannot be read, or None."""
    try:
        ledger.read()
    except DpgrsError as error:
        return str(error)
    return None


def draws(folder):
    """Return the ids of the requests that drew noise."""
    return [path.name.removeprefix("drawn.") for path in folder.glob("drawn.*")]


def kill_everywhere():
    """Kill a release before each of its system calls and inside each write; print what the reruns found."""
    found = []
    for how in ("before", "torn"):
        for at in itertools.count():
            with tempfile.TemporaryDirectory() as folder:
                outcome = kill_and_rerun(Path(folder), at, how)
            if outcome is None:
                break
            found.append(outcome)
    print(json.dumps(found))


if __name__ == "__main__":
    {"compete": compete, "kill_everywhere": kill_everywhere}[sys.argv[1]](*sys.argv[2:])
