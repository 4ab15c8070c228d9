"""Read by Python at its start in every process of a workflow under test: changes modules of dpgrs on import.

The ledger's clock stands still. Jobs on a cluster are asked for every two seconds. Where the variable
`KILL_AT` names a function, a process that calls it kills itself with SIGKILL; where `FULL_AT` names one, it
finds a full disk there.
"""

import errno
import importlib.abc
import importlib.util
import os
import signal
import sys

from stopped_clock import StoppedClock

# The executor for SLURM adds ten seconds whenever it asked in vain, up to three minutes.
WAIT = (
    "snakemake_interface_executor_plugins.executors.remote.RemoteExecutor.next_seconds_between_status_checks"
)
KILL_AT, FULL_AT = "DPGRS_TEST_KILL_AT", "DPGRS_TEST_FULL_AT"


class ChangedOnImport(importlib.abc.MetaPathFinder):
    """Sets an attribute of a module, or of a class in it, as soon as the module was imported.

    Parameters
    ----------
    place : str, as in ``dpgrs.privacy.noise.sources.ReleaseNoise._draw``.
    value : what stands there from then on.
    """

    def __init__(self, place, value):
        owner, _, self._name = place.rpartition(".")
        before, _, last = owner.rpartition(".")
        self._module, self._class = (before, last) if last[0].isupper() else (owner, None)
        self._value = value

    def find_spec(self, fullname, path, target=None):
        if fullname != self._module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        execute = spec.loader.exec_module

        def exec_module(made):
            execute(made)
            setattr(getattr(made, self._class) if self._class else made, self._name, self._value)

        spec.loader.exec_module = exec_module
        return spec


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def find_no_room(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


sys.meta_path.insert(0, ChangedOnImport("dpgrs.privacy.ledger.hash_chain.datetime", StoppedClock))
sys.meta_path.insert(0, ChangedOnImport(WAIT, property(lambda _: 2, lambda *_: None)))
if KILL_AT in os.environ:
    sys.meta_path.insert(0, ChangedOnImport(os.environ[KILL_AT], die))
if FULL_AT in os.environ:
    sys.meta_path.insert(0, ChangedOnImport(os.environ[FULL_AT], find_no_room))
