"""Run tests on changed code in forks, so that nothing of it stays."""

import gc
import math
import os
import signal
import time
import traceback
from collections import defaultdict
from functools import partial
from tempfile import TemporaryDirectory

import pytest

from mutants.changed_code import changed_functions, functions_of

KILLED, SURVIVED = "killed", "survived"
UNTESTED = "survived: no test runs it"
OUTSIDE = "outside of functions"  # so all must be imported anew
SLOW = 4  # a mutant may take so many times as long as the code as it is
CONSOLE = os.dup(2)  # pytest and forks are silent otherwise
PLAIN = ("-x", "--assert=plain", "-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=none")


class Session:
    """A plugin of pytest: of the tests that it finds, it runs a few again and again, on other code each time.

    Parameters
    ----------
    notes : Notes
        Which tests run which lines; what is lacking is noted first.
    modules : list of `mutants.run.Module`
    jobs : int
        Processes side by side.
    """

    def __init__(self, notes, modules, jobs):
        self._notes, self._modules, self._jobs = notes, modules, jobs

    def pytest_runtestloop(self, session):
        session.config._tmp_path_factory.getbasetemp()  # forks share it
        items = defaultdict(list)
        for item in session.items:
            items[item.path].append(item)
        lacking = [(file, own) for file, own in items.items() if self._notes.lack(file)]
        gc.freeze()
        side_by_side([partial(self._watch, session, lacking[job :: self._jobs]) for job in range(self._jobs)])
        items = {item.nodeid: item for item in session.items}
        for module in self._modules:
            guards, functions = self._notes.guards(module.path, module.source), functions_of(module.path)
            gc.freeze()
            module.forget()
            work = partial(self._test, session, items, module, guards, functions)
            side_by_side([partial(work, module.mutants[job :: self._jobs]) for job in range(self._jobs)])
        return True

    def _watch(self, session, files):
        for file, items in files:
            self._notes.watch(file, items, _outcomes(session, items))
        return True

    def _test(self, session, items, module, guards, functions, mutants):
        for mutant in mutants:
            code = module.changed(mutant)
            if code is None:
                continue
            changes = changed_functions(module.path, module.source, code, functions)
            tests = [test for test in guards.of(mutant[-1]) if test in items]
            if changes is None:
                verdict = OUTSIDE
            elif not tests:
                verdict = UNTESTED
            else:
                passes = partial(_pass, session, [items[test] for test in tests], changes)
                verdict = SURVIVED if in_fork(passes, limit=SLOW * guards.seconds(tests) + 10) else KILLED
            module.tell(mutant, code, verdict)
        return True


class Order:
    """A plugin of pytest that runs some tests alone, in their order."""

    def __init__(self, tests):
        self._places = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid in self._places]
        items.sort(key=lambda item: self._places[item.nodeid])


def _pass(session, items, changes):
    """Put changed code in its place and tell whether tests pass."""
    for function, changed in changes:
        function.__code__ = changed
    return all(_outcomes(session, items))


def _outcomes(session, items):
    """Run tests; tell of each whether it passes."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        failed = session.testsfailed
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        yield session.testsfailed == failed


def run_pytest(arguments, *plugins):
    """Run pytest in this process; tell whether all went well."""
    # Where pytest keeps no folders of earlier sessions it locks none, so that other sessions remove them.
    with TemporaryDirectory(prefix="dpgrs-mutants-", ignore_cleanup_errors=True) as folder:
        arguments = [*arguments, *PLAIN, f"--basetemp={folder}/session"]
        return pytest.main(arguments, plugins=plugins) == pytest.ExitCode.OK


def side_by_side(works):
    """Do works in forks, in silence but for errors, and wait for all; they must return True."""
    statuses = [os.waitpid(child, 0)[1] for child in [_fork(work, tells_errors=True) for work in works]]
    if any(statuses):
        raise RuntimeError("a process of the run failed, see above")


def in_fork(work, *, limit=math.inf):
    """Tell whether work that is done in a fork, without a word, returns True within some seconds."""
    child = _fork(work, tells_errors=False)
    ends = time.monotonic() + limit
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _fork(work, *, tells_errors):
    child = os.fork()
    if child:
        return child
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        os._exit(not work())
    except BaseException:
        if tells_errors:
            os.write(CONSOLE, traceback.format_exc().encode())
        os._exit(1)
