"""Downloads over HTTP that survive a broken connection, by the standard library.

The bytes so far lie in a file `.part`, and beside it the server's name of that version of the file (`ETag` or
`Last-Modified`). With both, a later request asks for the rest of that version and nothing else.
"""

import errno
import re
import shutil
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from dpgrs import __version__
from dpgrs.errors import DpgrsError

BLOCK = 1 << 20
SILENCE = 60  # seconds without a byte, after which a connection counts as broken
FRUITLESS = 5  # attempts in a row that bring nothing
CONTROLLED = re.compile(r"phs\d{6}|EGA[A-Z]\d{11}", re.IGNORECASE)
VALIDATORS = ("ETag", "Last-Modified")

_REMEDIES = {
    errno.ENOSPC: "Make room; what has come is kept, and the rest is fetched next time.",
    errno.EDQUOT: "Make room in your quota; what has come is kept, and the rest is fetched next time.",
}
_STATUS_REMEDIES = {
    401: "It is not open to all: get it by its publisher's own way.",
    403: "It is not open to all: get it by its publisher's own way.",
}


class _BrokenOff(Exception):
    """The connection failed or ended early: to be tried again."""


def address_fault(url: str) -> str | None:
    """Return why an address cannot be fetched from ("be ..., got .... <remedy>"); None if it can."""
    components = urlsplit(url)
    if components.scheme == "ftp":
        return f"begin with https:// or http://, got {url}. Many hosts of ftp:// offer the same path by https://."
    if components.scheme not in ("https", "http") or not components.netloc:
        return f"begin with https:// or http://, got {url}. Give the whole address."
    if CONTROLLED.search(url):
        return f"be of open data, got {url}. Ask the data access committee how to get it."
    return None


def download(
    url: str,
    partial_file: Path,
    *,
    size: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Bring the file at a URL to `partial_file`, going on where an earlier call was broken off.

    `partial_file` may hold the beginning already. The caller must check whether the whole is right. `size` is
    the bytes that the file must have; `progress` gets the bytes so far and of the whole, None if not known;
    `pause` waits some seconds before another attempt.
    """
    n_fruitless = 0
    while True:
        before = _size(partial_file)
        try:
            return _attempt(url, partial_file, size=size, progress=progress)
        except _BrokenOff as error:
            n_fruitless = 0 if _size(partial_file) > before else n_fruitless + 1
            if n_fruitless == FRUITLESS:
                raise DpgrsError(
                    "download-failed",
                    f"`{url}` cannot be fetched: {error}. Check the network, try again: what came is kept.",
                ) from error
        pause(2.0**n_fruitless)


def discard(partial_file: Path) -> None:
    """Remove the bytes of a file so far."""
    partial_file.unlink(missing_ok=True)
    _validator_file(partial_file).unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the disk into one line that names `path` and what to do."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "Name a place that you may write to.")
        raise DpgrsError(
            "file-not-writable", f"`{path}` cannot be written: {error.strerror or error}. {remedy}"
        ) from error


class _Redirects(request.HTTPRedirectHandler):
    """Follow redirects, but never from https to http: the manifest must come as its publisher sent it."""

    def redirect_request(
        self, req: request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> request.Request | None:
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise DpgrsError(
                "redirect-not-https",
                f"`{req.full_url}` leads to {newurl}, which is not https. Give another address.",
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> request.OpenerDirector:
    """Return an opener that takes http, https and the usual variables of proxies, and nothing else."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPDefaultErrorHandler,
        _Redirects,
        request.HTTPErrorProcessor,
        request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _attempt(
    url: str, partial_file: Path, *, size: int | None, progress: Callable[[int, int | None], None] | None
) -> None:
    validator = _read_validator(partial_file)
    offset = _size(partial_file) if validator else 0
    headers = {"User-Agent": f"dpgrs/{__version__}", "Accept-Encoding": "identity"}
    if offset:
        headers |= {"Range": f"bytes={offset}-", "If-Range": validator}
    response = _open(request.Request(url, headers=headers))
    if response is None:
        return  # all of it was there
    with response:
        start, total = _extent(response, offset, partial_file)
        if size is not None and total is not None and total != size:
            discard(partial_file)
            raise DpgrsError(
                "download-size",
                f"`{url}` must have {size} bytes as its manifest says, got {total}. "
                "Name the manifest of this version of the file.",
            )
        if not start:
            _begin(partial_file, response.headers)
        _require_room(partial_file, (total or size or 0) - start)
        _copy(response, partial_file, start=start, total=total, progress=progress)
    if total is not None and _size(partial_file) < total:
        raise _BrokenOff(f"the connection ended after {_size(partial_file)} of {total} bytes")


def _open(message: request.Request) -> HTTPResponse | None:
    """Send a request; return the response, or None if the server has nothing left to send."""
    try:
        return _opener().open(message, timeout=SILENCE)
    except HTTPError as error:
        error.close()
        if error.code == 416 and message.has_header("Range"):
            return None
        answer = f"answered {error.code} {error.reason}"
        if error.code >= 500 or error.code == 429:
            raise _BrokenOff(f"the server {answer}") from error
        remedy = _STATUS_REMEDIES.get(error.code, "Correct the address.")
        raise DpgrsError(
            "download-refused", f"`{message.full_url}` cannot be fetched: the server {answer}. {remedy}"
        ) from error
    except URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise DpgrsError(
                "certificate-invalid",
                f"`{message.full_url}` cannot be fetched: its certificate is not valid "
                f"({error.reason.verify_message}). Mend the certificates or the clock of this machine.",
            ) from error
        raise _BrokenOff(_reason(error.reason)) from error
    except (HTTPException, OSError) as error:
        raise _BrokenOff(_reason(error)) from error


def _reason(error: object) -> str:
    """Return why a connection failed; some errors have only the text of a number, some none."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _extent(response: HTTPResponse, offset: int, partial_file: Path) -> tuple[int, int | None]:
    """Return where the body begins in the file, and the bytes of the whole file or None."""
    length = response.headers.get("Content-Length", "")
    if response.status != 206:
        return 0, int(length) if length.isdecimal() else None
    content_range = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
    if not content_range or int(content_range[1]) != offset:
        discard(partial_file)
        raise _BrokenOff("the server sent another part of the file than was asked for")
    return offset, int(content_range[2]) if content_range[2].isdecimal() else None


def _begin(partial_file: Path, headers: Any) -> None:
    """Begin anew, and note the version of the file; a weak ETag does not identify one."""
    values = (headers.get(name) for name in VALIDATORS)
    validator = next((value for value in values if value and not value.startswith("W/")), "")
    with writing(partial_file):
        partial_file.parent.mkdir(parents=True, exist_ok=True)
        discard(partial_file)
        _validator_file(partial_file).write_text(validator)
        partial_file.touch()


def _copy(
    response: HTTPResponse,
    partial_file: Path,
    *,
    start: int,
    total: int | None,
    progress: Callable[[int, int | None], None] | None,
) -> None:
    done = start
    with writing(partial_file), partial_file.open("ab") as file:
        while block := _read(response):
            file.write(block)
            done += len(block)
            if progress:
                progress(done, total)


def _read(response: HTTPResponse) -> bytes:
    try:
        return response.read1(BLOCK)
    except (HTTPException, OSError) as error:
        raise _BrokenOff(_reason(error)) from error


def _require_room(path: Path, n_bytes: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if n_bytes > free:
        raise DpgrsError(
            "disk-full", f"`{path.parent}` must have room for {n_bytes} bytes, got {free}. Make room."
        )


def _validator_file(partial_file: Path) -> Path:
    return partial_file.with_name(f"{partial_file.name}.version")


def _read_validator(partial_file: Path) -> str:
    file = _validator_file(partial_file)
    return file.read_text() if partial_file.is_file() and file.is_file() else ""


def _size(partial_file: Path) -> int:
    return partial_file.stat().st_size if partial_file.is_file() else 0
