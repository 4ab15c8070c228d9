"""A real SLURM on this one machine, for tests: started in a folder of its own, stopped by pid.

Ports, configuration, munge socket and munge key are its own, so another SLURM on the machine is not
disturbed. Needs root and the programs of the Debian packages ``slurm-wlm`` and ``munge``, not their services.
"""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "sinfo", "setpriv")
LONGEST_SOCKET_PATH = 107  # sun_path in unix(7), without its closing zero byte
LONGEST_STEP = "99999.4294967295"  # a job and the step of its script, in the name of the step's socket
START_SECONDS = 60
STOP_SECONDS = 20

# The node claims more than the machine may have (config_overrides), so that the threads and memory of every
# rule fit and several jobs run side by side: the way through SLURM is tested, not its speed. Steps that take
# more memory than their job asked for are killed, as soon as they are looked at: every second.
SLURM_CONF = """\
ClusterName=test
SlurmctldHost={node}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
CommunicationParameters=NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.log
MailProg=/bin/true
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={node} NodeAddr=127.0.0.1 CPUs=8 RealMemory=64000
PartitionName=test Nodes={node} Default=YES MaxTime=INFINITE State=UP
"""

# Without systemd nobody else sets control groups up.
CGROUP_CONF = """\
CgroupPlugin=cgroup/v1
IgnoreSystemd=yes
"""


def missing_requirement():
    """Say in words what this machine lacks to run a `SlurmCluster`; None if it lacks nothing."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (Debian packages slurm-wlm and munge)"
    return None if os.geteuid() == 0 else "only root can start the SLURM daemons"


class SlurmCluster:
    """Context manager that runs munged, slurmctld and slurmd and gives the environment that reaches them.

    Parameters
    ----------
    folder : existing folder for configuration, state and logs; at most about 80 characters, for sockets.

    Raises
    ------
    RuntimeError : if a daemon does not start; the message holds the ends of all logs.
    """

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.node = socket.gethostname().split(".")[0]
        self.munge_socket = self.folder / "munge.socket"
        self.env = os.environ | {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "USER": "root",
        }

    def __enter__(self):
        # Everything on the stack is undone in reverse order, also if the start fails half-way.
        with contextlib.ExitStack() as stack:
            self._write_configuration()
            munged = stack.enter_context(self._daemon("munged", *self._munge_options()))
            self._wait_until(self.munge_socket.is_socket, munged)
            slurmctld = stack.enter_context(self._daemon("slurmctld", "-D"))
            self._start_node()
            stack.callback(lambda: stop(self._slurmd))
            self._wait_until(self._node_is_idle, slurmctld, self._slurmd)
            stack.callback(self._cancel_jobs)
            self._stack = stack.pop_all()
        return self.env

    def __exit__(self, *exception):
        return self._stack.__exit__(*exception)

    def kill_and_restart_node(self):
        """Kill the daemon of the node with SIGKILL and start it again; its jobs are no children of it."""
        self._slurmd.kill()
        self._slurmd.wait()
        self._start_node()

    def finished_jobs(self):
        """Return SLURM's record (JobId, JobState, TimeLimit, ...) of every finished job or array task."""
        lines = (self.folder / "jobs.log").read_text().splitlines()
        return [dict(field.split("=", 1) for field in line.split()) for line in lines]

    def _write_configuration(self):
        # With a longer one SLURM starts, but holds every job back for ever.
        of_step = self.folder / "spool" / f"{self.node}_{LONGEST_STEP}"
        if max(len(str(path)) for path in (self.munge_socket, of_step)) > LONGEST_SOCKET_PATH:
            raise ValueError(f"`folder` must have a shorter path, got {self.folder}.")
        controller_port, node_port = free_ports(2)
        settings = SLURM_CONF.format(
            folder=self.folder,
            node=self.node,
            controller_port=controller_port,
            node_port=node_port,
        )
        (self.folder / "slurm.conf").write_text(settings)
        (self.folder / "cgroup.conf").write_text(CGROUP_CONF)
        for name in ("state", "spool", "bin"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        # Snakemake's job step takes SLURM_CONF out of the environment of its srun.
        srun = self.folder / "bin" / "srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={self.env["SLURM_CONF"]} exec {shutil.which("srun")} "$@"\n')
        srun.chmod(0o755)

    def _munge_options(self):
        return (
            "--foreground",
            "--force",  # else it refuses a socket in a folder that only root may enter
            f"--socket={self.munge_socket}",
            *(f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "log", "pid", "seed")),
        )

    def _start_node(self):
        self._slurmd = self._start("slurmd", "-D")

    @contextlib.contextmanager
    def _daemon(self, *command):
        process = self._start(*command)
        try:
            yield process
        finally:
            stop(process)

    def _start(self, *command):
        """Start a daemon in the foreground, as our child: its pid is known without trusting a pid file."""
        with (self.folder / f"{command[0]}.log").open("ab") as log:
            return subprocess.Popen(
                # The daemon ends with us even if we are killed and cannot stop it.
                ["setpriv", "--pdeathsig", "TERM", *command],
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _wait_until(self, is_ready, *daemons):
        deadline = time.monotonic() + START_SECONDS
        while not is_ready():
            if time.monotonic() > deadline or any(daemon.poll() is not None for daemon in daemons):
                raise RuntimeError(f"SLURM did not start.\n{self._logs()}")
            time.sleep(0.1)

    def _logs(self):
        logs = sorted(self.folder.glob("*.log"))
        return "\n".join(f"--- {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)

    def _output(self, *command):
        return subprocess.run(command, env=self.env, capture_output=True, text=True, check=False).stdout

    def _node_is_idle(self):
        return self._output("sinfo", "--noheader", "--format=%T").strip() == "idle"

    def _cancel_jobs(self):
        """End what still runs: job steps are not our children and would outlive the daemons."""
        self._output("scancel", "--user=root", "--full")
        deadline = time.monotonic() + STOP_SECONDS
        while self._output("squeue", "--noheader") and time.monotonic() < deadline:
            time.sleep(0.2)


def free_ports(count):
    """Return `count` different TCP ports that nobody on this machine listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def stop(process):
    """Ask a child process to end, and kill it if it does not."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
