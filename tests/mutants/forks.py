"""Run tests on changed code in forks, so that nothing of it stays."""

import gc
import math
import os
import signal
import time
from tempfile import TemporaryDirectory

import pytest

from mutants.changed_code import changed_functions, functions_of
from mutants.guards import Guards, Watch

KILLED, SURVIVED = "killed", "survived"
UNTESTED = "survived: no test runs it"
OUTSIDE = "outside of functions"  # so all must be imported anew
SLOW = 4  # a mutant may take so many times as long as the code as it is
PLAIN = ("-x", "--assert=plain", "-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=none")


class Session:
    """A plugin of pytest: of the tests that it finds, it runs a few again and again, on other code each time.

    Parameters
    ----------
    path : pathlib.Path
        The module that is changed.
    noted : pathlib.Path
        Where to write which test runs which lines.
    mutants : list of (operator, occurrence, line, code)
    tell : callable that takes a mutant and its verdict.
    """

    def __init__(self, path, noted, mutants, tell):
        self._path, self._noted, self._mutants, self._tell = path, noted, mutants, tell

    def pytest_runtestloop(self, session):
        session.config._tmp_path_factory.getbasetemp()  # forks share it
        functions, source = functions_of(self._path), self._path.read_text()
        gc.freeze()
        if not in_fork(lambda: self._note(session)):
            raise pytest.UsageError("the tests fail on the code as it is")
        guards, items = Guards(self._noted, source), {item.nodeid: item for item in session.items}
        for mutant in self._mutants:
            *_, line, code = mutant
            changes, tests = changed_functions(self._path, source, code, functions), guards.of(line)
            if changes is None:
                verdict = OUTSIDE
            elif not tests:
                verdict = UNTESTED
            else:

                def passes(changes=changes, tests=tests):
                    for function, changed in changes:
                        function.__code__ = changed
                    return all(_outcomes(session, [items[test] for test in tests]))

                verdict = SURVIVED if in_fork(passes, limit=SLOW * guards.seconds(tests) + 10) else KILLED
            self._tell(mutant, verdict)
        return True

    def _note(self, session):
        watch = Watch(self._path)
        is_good = watch.run(session.items, _outcomes(session, session.items))
        watch.write(self._noted)
        return is_good


class Order:
    """A plugin of pytest that runs some tests before the others of their files."""

    def __init__(self, tests):
        self._places = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: self._places.get(item.nodeid, len(self._places)))


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


def in_fork(work, *, limit=math.inf):
    """Tell whether work that is done in a fork, without a word, returns True within some seconds."""
    child = os.fork()
    if child == 0:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        try:
            os._exit(not work())
        except BaseException:
            os._exit(1)
    ends = time.monotonic() + limit
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False
