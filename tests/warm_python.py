"""A Python that has imported all modules already: `python -m dpgrs` and `python -m snakemake` as forks of it.

Imports are half of what a small study costs, in every step anew. A worker of pytest starts this server once.
In place of Python stands a program of a few lines, which sends it arguments, folder, environment, umask and
standard streams, and ends as the fork ends; all else it hands to Python. Forks are no children of who asked
for them: what measures, limits or kills processes, or stops them or clocks by variables, runs without it.
"""

import atexit
import gc
import marshal
import os
import pkgutil
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from importlib import import_module
from pathlib import Path

MODULES, VARIABLE = ("dpgrs", "snakemake", "steps_in_turn"), "DPGRS_TEST_WARM"
CLIENT = f"""#!{sys.executable} -IS
import marshal
import os
import socket
import sys

_, *arguments = sys.argv
if arguments[:1] != ["-m"] or arguments[1] not in {MODULES} or {VARIABLE!r} not in os.environ:
    os.execv({sys.executable!r}, [{sys.executable!r}, *arguments])
umask = os.umask(0)
os.umask(umask)
request = marshal.dumps((arguments[1:], sys.argv[0], os.getcwd(), dict(os.environ), umask))
with socket.socket(socket.AF_UNIX) as server:
    server.connect(os.environ[{VARIABLE!r}])
    socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(request)
    code = server.recv(1)
sys.exit(code[0] if code else 1)
"""


def warm_python(environment):
    """Start a server, which ends with this process.

    Parameters
    ----------
    environment : dict, the variables under which modules are imported.

    Returns
    -------
    Path of a program to run in place of Python, and dict of the variable by which it finds the server.
    """
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    program, address = folder / "python", str(folder / "socket")
    program.write_text(CLIENT)
    program.chmod(0o700)
    server = subprocess.Popen(
        [sys.executable, __file__, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    # It ends as its standard input does.
    atexit.register(server.communicate)
    assert server.stdout.readline() == b"ready\n"
    return program, {VARIABLE: address}


def import_all():
    """Import what steps and Snakemake take; do what each of them would do first, the same for all."""
    import_module("snakemake.cli").get_argument_parser()
    package = import_module("dpgrs")
    for module in pkgutil.walk_packages(package.__path__, "dpgrs."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    # Snakemake imports it for each workflow, and a workflow finds which code its steps run.
    import_module("smart_open")
    verbs = import_module("dpgrs.study.verbs")
    for name in verbs.verb_names():
        verbs.code_read(name)
    # Reports compile their templates.
    templates = import_module("dpgrs.reporting.rendering").environment()
    for template in templates.list_templates(extensions=["html"]):
        templates.get_template(template)
    # The first kernel that is called fills numba's registries.
    import_module("numba").njit(lambda: None)()
    gc.freeze()


def serve(address):
    """Fork for whoever asks, until standard input ends; return the request in a fork, and None at the end."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                return None
            if key.fileobj is listener:
                connection, _ = listener.accept()
                request, streams = receive(connection)
                pid = os.fork()
                if not pid:
                    return request, streams
                for stream in streams:
                    os.close(stream)
                ended = os.pidfd_open(pid)
                selector.register(ended, selectors.EVENT_READ, (pid, connection))
                selector.register(connection, selectors.EVENT_READ, pid)
            elif isinstance(key.fileobj, socket.socket):
                selector.unregister(key.fileobj)  # whoever asked is gone
                os.kill(key.data, signal.SIGTERM)
            else:
                pid, connection = key.data
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with connection:
                    if connection in selector.get_map():
                        selector.unregister(connection)
                        connection.send(bytes([code if code >= 0 else 128 - code]))
                selector.unregister(key.fileobj)
                os.close(key.fileobj)


def receive(connection):
    """Return what is asked for, and the three standard streams."""
    with connection.makefile("rb", buffering=0) as file:
        size, streams, *_ = socket.recv_fds(connection, 8, 3)
        wanted, parts = int.from_bytes(size, "big"), b""
        while len(parts) < wanted:
            parts += file.read(wanted - len(parts))
    return marshal.loads(parts), streams


def become(request, streams):
    """Be the Python that was asked for."""
    (name, *arguments), sys.executable, folder, variables, umask = request
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(folder)
    os.umask(umask)
    os.environ.clear()
    os.environ.update(variables)
    sys.modules["sitecustomize"].change_imported()
    sys.path[0], sys.argv = folder, [name, *arguments]
    code = 0
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    # Python would take all modules apart, and a fork would copy their memory for that, 170 MB.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    _, address = sys.argv
    import_all()
    asked = serve(address)
    if asked is None:
        shutil.rmtree(Path(address).parent)
    else:
        become(*asked)
