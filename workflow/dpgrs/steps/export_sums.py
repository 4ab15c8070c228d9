"""What the commands of sites and their coordinator do: sums of a site encrypted, and those of all added."""

import re
from pathlib import Path

from dpgrs.errors import DpgrsError, UsageError, shown
from dpgrs.io.files import file_digest, require_regular, write_closed
from dpgrs.privacy.age_files import decrypted, encrypted
from dpgrs.privacy.private_folders import PRIVATE
from dpgrs.study.site_sums import SiteSums, combined, sums_of_study

NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")


def export(study, *, name, public_key):
    """Encrypt the exact sums of a study of one site, in its private folder, mode 0600.

    Parameters
    ----------
    study : folder of the study.
    name : str, public name of the site.
    public_key : str, of the coordinator.

    Returns
    -------
    path : Path of the file.
    digest : str, its SHA-256, which tells nothing of what is in it.

    Raises
    ------
    UsageError
        If the name or the key is none, or the study is no site's.
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
    content = sums_of_study(study, site=name).as_bytes()
    write_closed(path, encrypted(content, public_key=public_key))
    return path, file_digest(path)


def combine(exports, *, key, output):
    """Add the sums of sites into one file of mode 0600.

    Parameters
    ----------
    exports : sequence of paths.
    key : path of the coordinator's key pair.
    output : the file, for `cohort.sums`; written last.

    Returns
    -------
    list of tuples, of each export: name of the site, path, SHA-256 of the file.

    Raises
    ------
    DpgrsError
        If an export does not open, or they do not belong together, see `combined`. Nothing is written.
    """
    told = []

    def opened():
        """Read one after another, so that no more than two are in memory."""
        for path in exports:
            require_regular(path)
            sums = SiteSums.load(path, content=decrypted(path, key=key))
            if len(sums.sites) != 1:
                raise DpgrsError(
                    f"`{path}` must be the export of one site, got another. Ask the site for it."
                )
            # A file from elsewhere may name itself anything.
            told.append((shown(sums.sites[0]), path, file_digest(path)))
            yield path, sums

    combined(opened()).save(output)
    return told
