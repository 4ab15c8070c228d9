"""Fetch a public file: it appears under its name only with the checksum that its publisher gives."""

import sys
import time
from functools import partial
from pathlib import Path

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.fetching.downloads import address_fault, discard, download, writing
from dpgrs.fetching.manifests import read_entries

MEGABYTE = 1_000_000


def fetch_file(url, *, manifest, output, progress=True, pause=None):
    """Fetch a file, and its index `.tbi` if the manifest lists one; what has come of it stays in `.part`.

    Parameters
    ----------
    url : str, http or https.
    manifest : str, path or address of the manifest that lists the file.
    output : path of the file to make. One that is there already is checked, and fetched no more.
    progress : bool, whether to show how much has come on stderr.
    pause : function of seconds, waits before another attempt; the default says so if `progress`.

    Returns
    -------
    dict of file, url, manifest, bytes, and the digest by the name of its algorithm.

    Raises
    ------
    UsageError
        An address that is not http or https, or that is of controlled data.
    DpgrsError
        A file that the manifest does not list, a download that fails or that twice has the wrong checksum, an
        `output` that is there and is another file, a disk that refuses.
    """
    output, pause = Path(output), pause or _pause(progress)
    require_open_address(url)
    index_url = f"{url}.tbi"
    entries = _entries(manifest, [url, index_url], output=output, pause=pause)
    if url not in entries:
        raise DpgrsError(
            f"`{manifest}` must list {Path(url).name}, got no line for it. Correct the address, or name the "
            "manifest that has it: no file is fetched without a checksum."
        )
    entry = entries[url]
    if output.exists():
        _require_same(output, entry)
    else:
        bring = partial(_bring, progress=progress, pause=pause)
        part = bring(url, entry, output)
        if index_url in entries:
            index = output.with_name(f"{output.name}.tbi")
            _publish(bring(index_url, entries[index_url], index), index)
        _publish(part, output)
    return {
        "file": str(output),
        "url": url,
        "manifest": str(manifest),
        "bytes": output.stat().st_size,
        entry.algorithm: entry.digest,
    }


def fetch_manifest(url, *, output, progress=True, pause=None):
    """Fetch a manifest, which has no checksum of its own but must hold those of files.

    Parameters, returns and errors are those of `fetch_file`; ``output`` is replaced.
    """
    output, pause = Path(output), pause or _pause(progress)
    require_open_address(url)
    part = _part(output)
    discard(part)  # nothing would tell whether two parts belong together
    download(url, part, pause=pause)
    try:
        read_entries(part, [])
    except DpgrsError as error:
        discard(part)
        raise DpgrsError(str(error).replace(str(part), url)) from error
    _publish(part, output)
    return {"file": str(output), "url": url, "bytes": output.stat().st_size}


def require_open_address(url):
    """Refuse an address that is not http or https, or of data that are not open to all."""
    fault = address_fault(url)
    if fault:
        raise UsageError(f"`URL` must {fault}")


def _entries(manifest, urls, *, output, pause):
    if "://" not in str(manifest):
        if not Path(manifest).is_file():
            raise UsageError(f"`--manifest` must be a file or an address, got {manifest}. Mend the path.")
        return read_entries(manifest, urls)
    fetched = output.with_name(f"{output.name}.manifest")
    try:
        fetch_manifest(str(manifest), output=fetched, pause=pause)
        return read_entries(fetched, urls)
    finally:
        fetched.unlink(missing_ok=True)


def _bring(url, entry, output, *, progress, pause):
    """Return the part file of `output`, whole and right; one with a wrong checksum is fetched once more."""
    part = _part(output)
    shown = Progress(output.name) if progress else None
    for _ in range(2):
        download(url, part, size=entry.size, progress=shown, pause=pause)
        digest = entry.digest_of(part)
        if digest == entry.digest:
            return part
        discard(part)
    raise DpgrsError(
        f"`{url}` must have {entry.algorithm} {entry.digest} as its manifest says, got {digest}, "
        "twice. It was thrown away; try another network, or ask its publisher."
    )


def _require_same(output, entry):
    digest = entry.digest_of(output)
    if digest != entry.digest:
        raise DpgrsError(
            f"`{output}` must have {entry.algorithm} {entry.digest} as its manifest says, got {digest}. "
            "Remove it, or name another output."
        )


def _pause(progress):
    def wait(seconds):
        print(f"The connection failed: another attempt in {seconds:g} s.", file=sys.stderr, flush=True)
        time.sleep(seconds)

    return wait if progress else time.sleep


def _part(output):
    return output.with_name(f"{output.name}.part")


def _publish(part, output):
    with writing(output):
        part.replace(output)
    discard(part)  # with it what was noted of its version


class Progress:
    """How much of a file has come, on stderr: a running line on a terminal, a line each tenth in a log."""

    def __init__(self, name):
        self._name = name
        self._is_terminal = sys.stderr.isatty()
        self._shown = None

    def __call__(self, done, total):
        """Show what is there of `total` bytes, None where not known."""
        step = done // MEGABYTE if self._is_terminal or not total else 10 * done // total
        if step == self._shown:
            return
        self._shown = step
        of_all = f" of {total / MEGABYTE:.1f}" if total else ""
        line = f"{self._name}: {done / MEGABYTE:.1f}{of_all} MB"
        if self._is_terminal:
            print(f"\r{line}", end="\n" if done == total else "", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
