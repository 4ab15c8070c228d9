"""Sums of several centres: each centre encrypts its own, and their coordinator adds them."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dpgrs.errors import DpgrsError, UsageError, shown
from dpgrs.io.files import require_regular, write_closed
from dpgrs.privacy.age_files import decrypted, encrypted
from dpgrs.privacy.private_folders import PRIVATE, require_private_place
from dpgrs.study.centre_sums import NAME, CentreSums, combined, sums_of_study


def export(
    study: Path | str,  # folder of the study
    *,
    name: str,  # public name of the centre
    public_key: str,  # of the coordinator
) -> tuple[Path, str]:
    """Encrypt the exact sums of a centre in the private folder, mode 0600; return path and SHA-256.

    The digest reveals nothing of the sums. A wrong name or key, and a study of no centre, are a UsageError; a
    study that has not run as its settings say is a DpgrsError.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            "centre-name-invalid",
            f"`--name` must be up to 60 letters, digits, `_` and `-`, got {shown(name)}. Change it.",
        )
    # A wrong key is reported before anything private is read.
    encrypted(b"", public_key=public_key)
    path = Path(study) / PRIVATE / f"{name}.age"
    content = encrypted(sums_of_study(study, centre=name).as_bytes(), public_key=public_key)
    write_closed(path, content)
    return path, hashlib.sha256(content).hexdigest()


def combine(
    exports: Sequence[Path | str],
    *,
    key: Path | str,  # path of the coordinator's key pair
    output: Path | str,  # for `cohort.sums`, outside repositories and results; written last
) -> list[tuple[str, Path | str, str]]:
    """Add the sums of centres into one file of mode 0600; return name, path and SHA-256 of each export.

    An export that does not open, or that does not belong to the others (`combined`), is a DpgrsError: nothing
    is written. An output in a repository or a results folder, or over the key or an export, is a UsageError.
    """
    receipts, output = [], require_private_place(output, name="`--output`")
    if output in {Path(path).resolve() for path in (key, *exports)}:
        raise UsageError(
            "output-over-input",
            f"`--output` must be a file of its own, got {output}, the key or an export. Name another.",
        )

    def opened() -> Iterator[tuple[Path | str, CentreSums]]:
        """Read one after another, so that no more than two are in memory."""
        for path in exports:
            require_regular(path)
            content = Path(path).read_bytes()
            sums = CentreSums.load(path, content=decrypted(content, key=key, path=path))
            if len(sums.centres) != 1:
                raise DpgrsError(
                    "not-an-export",
                    f"`{path}` must be the export of one centre, got another. Ask the centre for it.",
                )
            digest = hashlib.sha256(content).hexdigest()
            receipts.append((*sums.centres, path, digest))
            yield path, replace(sums, exports=(digest,))

    combined(opened()).save(output)
    return receipts
