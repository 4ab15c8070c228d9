"""The study key: 32 secret random bytes, made once, that key all release noise and the marks in a ledger.

The key lies in a file of its own, that only its owner can read, outside every repository and results folder.
Only the file's path is ever passed on, in the environment variable `VARIABLE`.
"""

import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from dpgrs.errors import UsageError, shown
from dpgrs.privacy.private_folders import require_private_place

VARIABLE = "DPGRS_STUDY_KEY"
KEY_BYTES = 32
EXPORT = f"export {VARIABLE}=~/.dpgrs/study.key"


@dataclass(frozen=True)
class StudyKey:
    """The secret, and the name and marks that a ledger may hold of it."""

    secret: bytes = field(repr=False)  # of length `KEY_BYTES`; never shown, logged or written

    @property
    def id(self) -> str:
        """A public name of the key, from which nothing about the key can be found."""
        return self._keyed("name")[:16]

    def mark(self, identity_digest: str, statistic_digest: str) -> str:
        """Return a message authentication code of a statistic under one public identity, in hexadecimal.

        A plain digest of a private statistic is itself a release: anyone who can guess the data can confirm
        it. A code by only the statistic would still show that two requests, say before and after a person
        left, had equal statistics; the identity is therefore a part of the marked message. Both arguments are
        SHA-256 in hexadecimal.
        """
        return self._keyed("mark", identity_digest, statistic_digest)

    def _keyed(self, *words: str) -> str:
        # A key of its own, so that no mark can ever coincide with the key of a noise stream.
        ledger_key = hmac.digest(self.secret, b"dpgrs ledger", "sha256")
        return hmac.new(ledger_key, "\n".join(words).encode(), hashlib.sha256).hexdigest()


def create_study_key() -> Path:
    """Make the study key, once, in the file that the environment names, of mode 0600, and return its path.

    It is refused if the variable is not set, the file exists, or it would lie in a repository or results
    folder.
    """
    path = _key_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
        try:
            os.link(file.name, path)  # unlike a rename, never replaces a key
        except FileExistsError:
            raise UsageError(
                "study-key-exists",
                f"`{VARIABLE}` must name a new file to make a key, got {path}, which exists. "
                "Use that key, or name another file: a lost key costs every replay.",
            ) from None
    return path


def load_study_key() -> StudyKey:
    """Read the study key from the file that the environment names.

    It is refused if the variable is not set, or the file is missing, of the wrong length, not a plain file of
    the current user, open to others, or in a repository or results folder.
    """
    path = _key_path()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        got = shown(str(path), n_characters=200)
        raise UsageError(
            "study-key-missing",
            f"`{VARIABLE}` must name the study key, got {got}: {error.strerror}. "
            f"Restore it, correct the path, as in `{EXPORT}`, or make one with `dpgrs key create`.",
        ) from None
    try:
        _require_safe(path, os.fstat(descriptor))
        return StudyKey(os.read(descriptor, KEY_BYTES))
    finally:
        os.close(descriptor)


def _key_path() -> Path:
    text = os.environ.get(VARIABLE)
    if not text:
        raise UsageError(
            "study-key-not-set",
            f"`{VARIABLE}` must be the path of the study key's file, and is not set. Set it, as in "
            f"`{EXPORT}`; `dpgrs key create` makes the key, once.",
        )
    return require_private_place(text, name=f"`{VARIABLE}`")


def _require_safe(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_size != KEY_BYTES:
        raise UsageError(
            "study-key-not-plain",
            f"`{VARIABLE}` must name a plain file of {KEY_BYTES} bytes, got {path}, which is not. "
            "Restore the key from a copy.",
        )
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise UsageError(
            "study-key-not-closed",
            f"`{VARIABLE}` must name a file that is yours and that nobody else can open, got {path} of "
            f"mode {stat.S_IMODE(status.st_mode):04o}. Run `chmod 600`; if others may have read it, make a "
            "new key.",
        )
