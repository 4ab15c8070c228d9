"""Files that only one person can open: the format and the cryptography of age, by `pyrage`.

X25519 keys, ChaCha20-Poly1305 in chunks that are authenticated with their order and end [1]_: a file that was
cut, lengthened or changed does not open. Who wrote it is not known: anybody with the public key can.

References
----------
.. [1] The age file encryption format, https://age-encryption.org/v1
"""

import os
from pathlib import Path

import pyrage

from dpgrs.errors import DpgrsError, UsageError, shown
from dpgrs.privacy.private_folders import OPEN_TO_OTHERS, require_private_place

KEY_LINE = "AGE-SECRET-KEY-"


def create_age_key(path: str | os.PathLike[str]) -> str:
    """Make a key pair in a new file, as `age-keygen` does, and return the public key.

    The file, of mode 0600, must lie outside repositories and results folders.
    """
    path = require_private_place(path, name="The key")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    identity = pyrage.x25519.Identity.generate()
    public = str(identity.to_public())
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(
            "file-exists",
            f"`{path}` must be a new file, got one that is there. Use that key, or name another.",
        ) from None
    with os.fdopen(descriptor, "w") as file:
        file.write(f"# public key: {public}\n{identity}\n")
    return public


def encrypted(content: bytes, *, public_key: str) -> bytes:
    """Return bytes as an age file that only the holder of a key can open."""
    try:
        recipient = pyrage.x25519.Recipient.from_str(public_key)
    except pyrage.RecipientError:
        raise UsageError(
            "public-key-invalid",
            f"The public key must be one of age, as `age1...`, got {shown(public_key)}. Ask the coordinator "
            "for it, who makes it with `dpgrs centre key`.",
        ) from None
    return pyrage.encrypt(content, [recipient])


def decrypted(
    content: bytes,  # of the file
    *,
    key: str | os.PathLike[str],  # path of the key pair, from `create_age_key` or `age-keygen`
    path: str | os.PathLike[str],  # the file, for messages
) -> bytes:
    """Return the decrypted bytes of an age file.

    A file is refused that is not whole or was encrypted to another key, and a key that is none or open to
    others.
    """
    identities = _load_key(key)
    try:
        return pyrage.decrypt(content, identities)
    except pyrage.DecryptError:
        raise DpgrsError(
            "decryption-failed",
            f"`{path}` must be a whole file that was encrypted to the key {key}, got one that is cut, "
            "changed or for another key. Get it again, or have it exported to this key.",
        ) from None


def _load_key(path: str | os.PathLike[str]) -> list[pyrage.x25519.Identity]:
    status = os.stat(path)  # noqa: PTH116 - takes a path of any kind
    if status.st_uid != os.geteuid() or status.st_mode & OPEN_TO_OTHERS:
        raise UsageError(
            "key-file-open",
            f"`{path}` must be a key that is yours and that nobody else can open. Run `chmod 600`; if others "
            "may have read it, make another.",
        )
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        identities = [pyrage.x25519.Identity.from_str(line) for line in lines if line.startswith(KEY_LINE)]
    except pyrage.IdentityError:
        identities = []
    if not identities:
        raise UsageError(
            "age-key-missing",
            f"`{path}` must hold a secret key of age, got none. Name the file that `dpgrs centre key` made.",
        )
    return identities
