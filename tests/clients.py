"""Programs that take releases, each in an environment of its own: they pin old libraries."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / ".clients"
COMMON = ("numpy==1.26.4", "pytz==2026.6", "python-dateutil==2.9.0.post0", "six==1.17.0")
# All that each needs, as nothing else is installed.
PACKAGES = {
    "pgscatalog-utils": (
        *COMMON,
        *("pgscatalog-utils==2.0.4", "pgscatalog.core==1.1.1", "pgscatalog.match==0.4.0"),
        *("pgscatalog.calc==0.3.1", "pandas==2.2.3", "tzdata==2026.6", "polars==0.20.30", "pyarrow==15.0.2"),
        *("scikit-learn==1.9.1", "scipy==1.17.1", "joblib==1.6.0", "threadpoolctl==3.8.0"),
        *("narwhals==2.29.0", "pydantic==2.14.4", "pydantic_core==2.50.5", "annotated-types==0.8.0"),
        *("typing_extensions==4.16.0", "typing-inspection==0.4.5", "httpx==0.28.1", "httpcore==1.0.9"),
        *("h11==0.16.0", "anyio==4.16.0", "idna==3.20", "certifi==2026.10.19.post1", "tenacity==9.2.1"),
        *("tqdm==4.70.1", "xopen==2.1.0", "isal==1.9.1", "zlib-ng==1.1.0", "backports.zstd==1.8.0"),
        *("natsort==8.4.0", "pyliftover==0.4.1", "cloudpickle==3.1.3"),
    ),
    "validate_scorefiles": (
        *COMMON,
        *("pgscatalog-utils==0.5.3", "pandas==1.5.3", "pandas-schema==0.3.6", "packaging==26.4"),
    ),
}


def client(name):
    """Return the folder of a client's programs, installed where it is not; the test skips where it cannot be.

    Parameters
    ----------
    name : str, one of `PACKAGES`.
    """
    folder = FOLDER / name
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers may ask at once
        packages, made = "\n".join(PACKAGES[name]), folder / "made"
        if not made.is_file() or made.read_text() != packages:
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            install = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", *PACKAGES[name]]
            process = subprocess.run(
                [folder / "bin" / "pip", *install], capture_output=True, text=True, check=False
            )
            if process.returncode:
                pytest.skip(f"{name} cannot be installed: {process.stderr[-500:]}")
            made.write_text(packages)
    return folder / "bin"
