"""Files that one person alone can open: the format and the cryptography of age, by `pyrage`.

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


def create_age_key(path):
    """Make a key pair in a new file, as `age-keygen` does.

    Parameters
    ----------
    path : the file, outside repositories and results; of mode 0600.

    Returns
    -------
    str, the public key.

    Raises
    ------
    UsageError
        If the file is there, or would lie in a repository or a results folder.
    """
    path = require_private_place(path, name="The key")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    identity = pyrage.x25519.Identity.generate()
    public = str(identity.to_public())
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(
            f"`{path}` must be a new file, got one that is there. Use that key, or name another."
        ) from None
    with os.fdopen(descriptor, "w") as file:
        file.write(f"# public key: {public}\n{identity}\n")
    return public


def encrypted(content, *, public_key):
    """Return bytes as an age file that the holder of a key alone can open.

    Raises
    ------
    UsageError
        If the public key is none.
    """
    try:
        recipient = pyrage.x25519.Recipient.from_str(public_key)
    except pyrage.RecipientError:
        raise UsageError(
            f"The public key must be one of age, as `age1...`, got {shown(public_key)}. Ask the coordinator "
            "for it, who makes it with `dpgrs centre key`."
        ) from None
    return pyrage.encrypt(content, [recipient])


def decrypted(content, *, key, path):
    """Return what the bytes of an age file hold.

    Parameters
    ----------
    content : bytes of the file.
    path : the file, for messages.
    key : path of the key pair, from `create_age_key` or `age-keygen`.

    Raises
    ------
    DpgrsError
        If the file is not whole, or was encrypted to another key.
    UsageError
        If the key is none, or open to others.
    """
    identities = _load_key(key)
    try:
        return pyrage.decrypt(content, identities)
    except pyrage.DecryptError:
        raise DpgrsError(
            f"`{path}` must be a whole file that was encrypted to the key {key}, got one that is cut, "
            "changed or for another key. Get it again, or have it exported to this key."
        ) from None


def _load_key(path):
    status = os.stat(path)  # noqa: PTH116 - takes a path of any kind
    if status.st_uid != os.geteuid() or status.st_mode & OPEN_TO_OTHERS:
        raise UsageError(
            f"`{path}` must be a key that is yours and that nobody else can open. Run `chmod 600`; if others "
            "may have read it, make another."
        )
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        identities = [pyrage.x25519.Identity.from_str(one) for one in lines if one.startswith(KEY_LINE)]
    except pyrage.IdentityError:
        identities = []
    if not identities:
        raise UsageError(
            f"`{path}` must hold a secret key of age, got none. Name the file that `dpgrs centre key` made."
        )
    return identities
