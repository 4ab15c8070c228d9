"""Processes whose time and memory are measured, for benchmarks."""

import subprocess
import sys
import time

# Between this process and the one measured stands a small one, whose own memory counts for nothing.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def run(command, environment=None):
    """Run a program; return its seconds, those of the processor, and the most memory it held, in bytes."""
    start = time.perf_counter()
    measured = [sys.executable, "-S", "-c", MEASURE, *command]
    usage = subprocess.run(measured, stdout=subprocess.PIPE, env=environment, check=True).stdout.split()
    return time.perf_counter() - start, float(usage[0]), 1024 * int(usage[1])
