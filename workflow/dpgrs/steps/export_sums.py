"""What centres and their coordinator do: sums of a centre are encrypted, and the sums of all are added."""

import hashlib
from dataclasses import replace
from pathlib import Path

from dpgrs.errors import DpgrsError, UsageError, shown
from dpgrs.io.files import require_regular, write_closed
from dpgrs.privacy.age_files import decrypted, encrypted
from dpgrs.privacy.private_folders import PRIVATE, require_private_place
from dpgrs.study.centre_sums import NAME, CentreSums, combined, sums_of_study


def export(study, *, name, public_key):
    """Encrypt the exact sums of a study of one centre, in its private folder, mode 0600.

    Parameters
    ----------
    study : folder of the study.
    name : str, public name of the centre.
    public_key : str, of the coordinator.

    Returns
    -------
    path : Path of the file.
    digest : str, its SHA-256, which tells nothing of what is in it.

    Raises
    ------
    UsageError
        If the name or the key is none, or the study is no centre's.
    DpgrsError
        If the study has not run as its settings say.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f"`--name` must be up to 60 letters, digits, `_` and `-`, got {shown(name)}. Change it."
        )
    # A wrong key is said before anything private is read.
    encrypted(b"", public_key=public_key)
    path = Path(study) / PRIVATE / f"{name}.age"
    content = encrypted(sums_of_study(study, centre=name).as_bytes(), public_key=public_key)
    write_closed(path, content)
    return path, hashlib.sha256(content).hexdigest()


def combine(exports, *, key, output):
    """Add the sums of centres into one file of mode 0600.

    Parameters
    ----------
    exports : sequence of paths.
    key : path of the coordinator's key pair.
    output : the file, for `cohort.sums`, outside repositories and results; written last.

    Returns
    -------
    list of tuples, of each export: name of the centre, path, SHA-256 of the file.

    Raises
    ------
    DpgrsError
        If an export does not open, or they do not belong together, see `combined`. Nothing is written.
    UsageError
        If the sums would lie in a repository or a results folder, or in place of the key or an export.
    """
    told, output = [], require_private_place(output, name="`--output`")
    if output in {Path(path).resolve() for path in (key, *exports)}:
        raise UsageError(
            f"`--output` must be a file of its own, got {output}, the key or an export. Name another."
        )

    def opened():
        """Read one after another, so that no more than two are in memory."""
        for path in exports:
            require_regular(path)
            content = Path(path).read_bytes()
            sums = CentreSums.load(path, content=decrypted(content, key=key, path=path))
            if len(sums.centres) != 1:
                raise DpgrsError(
                    f"`{path}` must be the export of one centre, got another. Ask the centre for it."
                )
            digest = hashlib.sha256(content).hexdigest()
            told.append((*sums.centres, path, digest))
            yield path, replace(sums, exports=(digest,))

    combined(opened()).save(output)
    return told
