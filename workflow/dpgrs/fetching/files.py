"""Fetch a public file: it appears under its name only with the checksum that its publisher gives."""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.fetching.downloads import address_fault, discard, download, writing
from dpgrs.fetching.manifests import Entry, read_entries

MEGABYTE = 1_000_000


def fetch_file(
    url: str,
    *,
    manifest: Path | str,
    output: Path | str,
    progress: bool = True,
    pause: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Fetch a file, and its index `.tbi` if the manifest, a path or an address, lists one.

    Bytes that came stay in `.part`. An output that is there already is checked, and not fetched. `progress`
    is shown on stderr; `pause` waits some seconds before another attempt.

    The result has file, url, manifest, bytes, and the digest by the name of its algorithm. Refused are an
    address that is not http or https, or that is of controlled data (UsageError), a file that the manifest
    does not list, a checksum that is wrong twice, and an output that is another file.
    """
    output, pause = Path(output), pause or _pause(progress)
    require_open_address(url)
    index_url = f"{url}.tbi"
    entries = _entries(manifest, [url, index_url], output=output, pause=pause)
    if url not in entries:
        raise DpgrsError(
            "checksum-not-listed",
            f"`{manifest}` must list {Path(url).name}, got no line for it. Correct the address, or name the "
            "manifest that has it: no file is fetched without a checksum.",
        )
    entry = entries[url]
    if output.exists():
        _require_same(output, entry)
    else:
        bring = partial(_bring, progress=progress, pause=pause)
        partial_file = bring(url, entry, output)
        if index_url in entries:
            index = output.with_name(f"{output.name}.tbi")
            _publish(bring(index_url, entries[index_url], index), index)
        _publish(partial_file, output)
    return {
        "file": str(output),
        "url": url,
        "manifest": str(manifest),
        "bytes": output.stat().st_size,
        entry.algorithm: entry.digest,
    }


def fetch_manifest(
    url: str, *, output: Path | str, progress: bool = True, pause: Callable[[float], None] | None = None
) -> dict[str, Any]:
    """Fetch a manifest, which has no checksum of its own but must hold those of files; replace the output.

    The arguments are those of `fetch_file`.
    """
    output, pause = Path(output), pause or _pause(progress)
    require_open_address(url)
    partial_file = _partial_file(output)
    discard(partial_file)  # nothing shows whether two parts belong together
    download(url, partial_file, pause=pause)
    try:
        read_entries(partial_file, [])
    except DpgrsError as error:
        discard(partial_file)
        raise DpgrsError(error.code, str(error).replace(str(partial_file), url)) from error
    _publish(partial_file, output)
    return {"file": str(output), "url": url, "bytes": output.stat().st_size}


def require_open_address(url: str) -> None:
    """Refuse an address that is not http or https, or of data that are not open to all."""
    fault = address_fault(url)
    if fault:
        raise UsageError("address-not-open", f"`URL` must {fault}")


def _entries(
    manifest: Path | str, urls: list[str], *, output: Path, pause: Callable[[float], None]
) -> dict[str, Entry]:
    if "://" not in str(manifest):
        if not Path(manifest).is_file():
            raise UsageError(
                "manifest-missing",
                f"`--manifest` must be a file or an address, got {manifest}. Mend the path.",
            )
        return read_entries(manifest, urls)
    fetched = output.with_name(f"{output.name}.manifest")
    try:
        fetch_manifest(str(manifest), output=fetched, pause=pause)
        return read_entries(fetched, urls)
    finally:
        fetched.unlink(missing_ok=True)


def _bring(url: str, entry: Entry, output: Path, *, progress: bool, pause: Callable[[float], None]) -> Path:
    """Return the part file of `output`, whole and right; one with a wrong checksum is fetched once more."""
    partial_file = _partial_file(output)
    shown = Progress(output.name) if progress else None
    for _ in range(2):
        download(url, partial_file, size=entry.size, progress=shown, pause=pause)
        digest = entry.digest_of(partial_file)
        if digest == entry.digest:
            return partial_file
        discard(partial_file)
    raise DpgrsError(
        "download-checksum",
        f"`{url}` must have {entry.algorithm} {entry.digest} as its manifest says, got {digest}, "
        "twice. It was thrown away; try another network, or ask its publisher.",
    )


def _require_same(output: Path, entry: Entry) -> None:
    digest = entry.digest_of(output)
    if digest != entry.digest:
        raise DpgrsError(
            "file-checksum",
            f"`{output}` must have {entry.algorithm} {entry.digest} as its manifest says, got {digest}. "
            "Remove it, or name another output.",
        )


def _pause(progress: bool) -> Callable[[float], None]:
    def wait(seconds: float) -> None:
        print(f"The connection failed: another attempt in {seconds:g} s.", file=sys.stderr, flush=True)
        time.sleep(seconds)

    return wait if progress else time.sleep


def _partial_file(output: Path) -> Path:
    return output.with_name(f"{output.name}.part")


def _publish(partial_file: Path, output: Path) -> None:
    with writing(output):
        partial_file.replace(output)
    discard(partial_file)  # also the note of its version


class Progress:
    """Shows the bytes so far on stderr: a running line on a terminal, a line each tenth in a log."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_terminal = sys.stderr.isatty()
        self._shown: int | None = None

    def __call__(self, done: int, total: int | None) -> None:
        """Show the bytes so far, of `total` bytes, None if not known."""
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
