"""Downloads over HTTP that survive a broken connection, from the standard library alone.

What has come lies in a file `.part`, and beside it what the server calls that version of the file (`ETag` or
`Last-Modified`). With both, a later request asks for the rest of that version and nothing else.
"""

import errno
import re
import shutil
import ssl
import time
from contextlib import contextmanager
from http.client import HTTPException
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


def address_fault(url):
    """Say why an address cannot be fetched from; None if it can.

    Parameters
    ----------
    url : str

    Returns
    -------
    str ("be ..., got .... <remedy>") or None.
    """
    parts = urlsplit(url)
    if parts.scheme == "ftp":
        return f"begin with https:// or http://, got {url}. Many hosts of ftp:// offer the same path by https://."
    if parts.scheme not in ("https", "http") or not parts.netloc:
        return f"begin with https:// or http://, got {url}. Give the whole address."
    if CONTROLLED.search(url):
        return f"be of open data, got {url}. Ask the data access committee how to get it."
    return None


def download(url, part, *, size=None, progress=None, pause=time.sleep):
    """Bring the file at a URL to `part`, going on where an earlier call was broken off.

    Parameters
    ----------
    url : str, http or https.
    part : pathlib.Path; may hold the beginning already. Whether the whole is right, the caller must check.
    size : int or None, bytes that the file must have.
    progress : function of bytes that are there and of all bytes (None where not known), or None.
    pause : function of seconds, waits before another attempt.

    Raises
    ------
    DpgrsError
        An address that the server does not give, another size than `size`, a connection that fails
        several times in a row, a disk that is full or may not be written.
    """
    n_fruitless = 0
    while True:
        before = _size(part)
        try:
            return _attempt(url, part, size=size, progress=progress)
        except _BrokenOff as error:
            n_fruitless = 0 if _size(part) > before else n_fruitless + 1
            if n_fruitless == FRUITLESS:
                raise DpgrsError(
                    f"`{url}` cannot be fetched: {error}. Check the network, try again: what came is kept."
                ) from error
        pause(2.0**n_fruitless)


def discard(part):
    """Remove what has come of a file."""
    part.unlink(missing_ok=True)
    _validator_file(part).unlink(missing_ok=True)


@contextmanager
def writing(path):
    """Turn what the disk refuses into one line that names `path` and what to do."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno, "Name a place that you may write to.")
        raise DpgrsError(f"`{path}` cannot be written: {error.strerror or error}. {remedy}") from error


class _Redirects(request.HTTPRedirectHandler):
    """Follow redirects, but never from https to http: the manifest must come as its publisher sent it."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            raise DpgrsError(f"`{req.full_url}` leads to {newurl}, which is not https. Give another address.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener():
    """Return an opener that knows http, https and the usual variables of proxies, and nothing else."""
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


def _attempt(url, part, *, size, progress):
    validator = _read_validator(part)
    offset = _size(part) if validator else 0
    headers = {"User-Agent": f"dpgrs/{__version__}", "Accept-Encoding": "identity"}
    if offset:
        headers |= {"Range": f"bytes={offset}-", "If-Range": validator}
    response = _open(request.Request(url, headers=headers))
    if response is None:
        return  # all of it was there
    with response:
        start, total = _extent(response, offset, part)
        if size is not None and total is not None and total != size:
            discard(part)
            raise DpgrsError(
                f"`{url}` must have {size} bytes as its manifest says, got {total}. "
                "Name the manifest of this version of the file."
            )
        if not start:
            _begin(part, response.headers)
        _require_room(part, (total or size or 0) - start)
        _copy(response, part, start=start, total=total, progress=progress)
    if total is not None and _size(part) < total:
        raise _BrokenOff(f"the connection ended after {_size(part)} of {total} bytes")


def _open(asked):
    """Send a request; return the response, or None where nothing is left to be sent."""
    try:
        return _opener().open(asked, timeout=SILENCE)
    except HTTPError as error:
        error.close()
        if error.code == 416 and asked.has_header("Range"):
            return None
        answer = f"answered {error.code} {error.reason}"
        if error.code >= 500 or error.code == 429:
            raise _BrokenOff(f"the server {answer}") from error
        remedy = _STATUS_REMEDIES.get(error.code, "Correct the address.")
        raise DpgrsError(f"`{asked.full_url}` cannot be fetched: the server {answer}. {remedy}") from error
    except URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise DpgrsError(
                f"`{asked.full_url}` cannot be fetched: its certificate is not valid "
                f"({error.reason.verify_message}). Mend the certificates or the clock of this machine."
            ) from error
        raise _BrokenOff(_reason(error.reason)) from error
    except (HTTPException, OSError) as error:
        raise _BrokenOff(_reason(error)) from error


def _reason(error):
    """Say why a connection failed; some errors of the network have a number's text alone, some none."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _extent(response, offset, part):
    """Return where the body begins in the file, and the bytes of the whole file or None."""
    length = response.headers.get("Content-Length", "")
    if response.status != 206:
        return 0, int(length) if length.isdecimal() else None
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
    if not found or int(found[1]) != offset:
        discard(part)
        raise _BrokenOff("the server sent another part of the file than was asked for")
    return offset, int(found[2]) if found[2].isdecimal() else None


def _begin(part, headers):
    """Begin anew, with what tells this version from others; a weak ETag says too little for that."""
    found = (headers.get(name) for name in VALIDATORS)
    validator = next((value for value in found if value and not value.startswith("W/")), "")
    with writing(part):
        part.parent.mkdir(parents=True, exist_ok=True)
        discard(part)
        _validator_file(part).write_text(validator)
        part.touch()


def _copy(response, part, *, start, total, progress):
    done = start
    with writing(part), part.open("ab") as file:
        while block := _read(response):
            file.write(block)
            done += len(block)
            if progress:
                progress(done, total)


def _read(response):
    try:
        return response.read1(BLOCK)
    except (HTTPException, OSError) as error:
        raise _BrokenOff(_reason(error)) from error


def _require_room(part, n_bytes):
    free = shutil.disk_usage(part.parent).free
    if n_bytes > free:
        raise DpgrsError(f"`{part.parent}` must have room for {n_bytes} bytes, got {free}. Make room.")


def _validator_file(part):
    return part.with_name(f"{part.name}.version")


def _read_validator(part):
    file = _validator_file(part)
    return file.read_text() if part.is_file() and file.is_file() else ""


def _size(part):
    return part.stat().st_size if part.is_file() else 0
