"""Read by Python at its start in every process of a workflow under test: changes modules of dpgrs on import.

The ledger's clock stands still. Jobs on a cluster are asked for every two seconds. Where the variable
`KILL_AT` names a function, a process that calls it kills itself with SIGKILL; where `FULL_AT` names one, it
finds a full disk there; where `STOP_AT` names one, it stops until it gets SIGCONT. Where `DRAWN_INTO` names a
file, secret noise is noted there by digest; where `CLOCK_OFF` is a number, clocks are off by it, in seconds.
Draws can be replayed (`replayed_draws.py`).
"""

import errno
import hashlib
import importlib.abc
import importlib.util
import json
import os
import signal
import sys
import time
from pathlib import Path

import replayed_draws
from stopped_clock import StoppedClock

# The executor for SLURM adds ten seconds whenever it asked in vain, up to three minutes.
WAIT = (
    "snakemake_interface_executor_plugins.executors.remote.RemoteExecutor.next_seconds_between_status_checks"
)
KILL_AT, FULL_AT, STOP_AT = "DPGRS_TEST_KILL_AT", "DPGRS_TEST_FULL_AT", "DPGRS_TEST_STOP_AT"
DRAWN_INTO, CLOCK_OFF = "DPGRS_TEST_DRAWN_INTO", "DPGRS_TEST_CLOCK_OFF"


class ChangedOnImport(importlib.abc.MetaPathFinder):
    """Sets an attribute of a module, or of a class in it, as soon as the module was imported.

    Parameters
    ----------
    place : str, as in ``dpgrs.privacy.noise.sources.ReleaseNoise._draw``.
    change : function of what stands there that returns what does from then on.
    """

    def __init__(self, place, change):
        owner, _, self._name = place.rpartition(".")
        before, _, last = owner.rpartition(".")
        self._module, self._class = (before, last) if last[0].isupper() else (owner, None)
        self._change = change

    def find_spec(self, fullname, path, target=None):
        if fullname != self._module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        execute = spec.loader.exec_module

        def exec_module(made):
            execute(made)
            owner = getattr(made, self._class) if self._class else made
            setattr(owner, self._name, self._change(getattr(owner, self._name)))

        spec.loader.exec_module = exec_module
        return spec


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def find_no_room(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def stopping_first(function):
    def stop(*arguments, **options):
        os.kill(os.getpid(), signal.SIGSTOP)
        return function(*arguments, **options)

    return stop


def noting(draw):
    def noted(self, statistic, event):
        noisy, event = draw(self, statistic, event)
        digest = hashlib.sha256(noisy.tobytes()).hexdigest()
        with Path(os.environ[DRAWN_INTO]).open("a") as file:
            note = {"request": event.request, "statistic": event.statistic, "noisy": digest}
            file.write(json.dumps(note) + "\n")
        return noisy, event

    return noted


if CLOCK_OFF in os.environ:
    on_time, off = time.time, float(os.environ[CLOCK_OFF])
    time.time = lambda: on_time() + off
CHANGES = {
    "dpgrs.privacy.ledger.hash_chain.datetime": lambda _: StoppedClock,
    WAIT: lambda _: property(lambda _: 2, lambda *_: None),
    **replayed_draws.CHANGES,
}


def changes_of_variables():
    """Return the changes that variables ask for, by place."""
    kinds = {KILL_AT: lambda _: die, FULL_AT: lambda _: find_no_room, STOP_AT: stopping_first}
    changes = {os.environ[name]: change for name, change in kinds.items() if name in os.environ}
    noted = {"dpgrs.privacy.noise.sources.ReleaseNoise._draw": noting} if DRAWN_INTO in os.environ else {}
    return noted | changes


def change_imported():
    """Make these changes in a fork, whose modules were imported before it had its variables."""
    for place, change in changes_of_variables().items():
        owner, _, name = place.rpartition(".")
        module, _, last = owner.rpartition(".")
        owner = getattr(importlib.import_module(module), last)
        setattr(owner, name, change(getattr(owner, name)))


for place, change in (CHANGES | changes_of_variables()).items():
    sys.meta_path.insert(0, ChangedOnImport(place, change))
