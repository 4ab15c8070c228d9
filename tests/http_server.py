"""An HTTP server on the loopback address that serves bytes and misbehaves on demand."""

import hashlib
import re
import socket
import struct
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


def md5(content):
    return hashlib.md5(content).hexdigest()


def tree_line(path, content):
    """Return a line of a `current.tree`, each of whose columns ends with a tab."""
    return f"{path}\tfile\t{len(content)}\tFri Mar 12 00:00:00 2021\t{md5(content)}\t\n"


class Server:
    """What is served, and what was asked for.

    Attributes
    ----------
    address : str, without a slash at its end.
    files : dict of path (with a slash in front) to bytes.
    faults : dict of path to a list of dicts, one for each coming request. Keys: ``status`` to answer with;
        ``cut`` after so many bytes, ``reset`` likewise with the connection torn off; ``corrupt``, the number
        of a byte to change; ``offset``, added to the place that is claimed in Content-Range; ``location``.
    headers : dict of name to value, of every answer with a body; None leaves a header out.
    has_ranges : bool, whether ranges are answered with a part.
    requests : list of (path, headers).
    """

    def __init__(self):
        self.files, self.faults, self.headers, self.requests = {}, {}, {}, []
        self.has_ranges = True
        self.address = ""

    def ranges(self, path):
        """Return the Range of every request of a path, None where there was none."""
        return [headers.get("Range") for asked, headers in self.requests if asked == path]

    def answer(self, handler):
        path = handler.path
        self.requests.append((path, dict(handler.headers)))
        faults = self.faults.get(path, [])
        fault = faults.pop(0) if faults else {}
        if path not in self.files or "status" in fault:
            handler.send_response(fault.get("status", 404))
            if "location" in fault:
                handler.send_header("Location", fault["location"])
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        content = bytearray(self.files[path])
        if "corrupt" in fault:
            content[fault["corrupt"]] ^= 1
        self._send(handler, bytes(content), fault)

    def _send(self, handler, content, fault):
        etag = f'"{md5(self.files[handler.path])}"'
        headers = {"ETag": etag, "Last-Modified": "Fri, 12 Mar 2021 00:00:00 GMT"} | self.headers
        start = self._start(handler, headers)
        if start >= len(content) and content:
            handler.send_response(416)
            headers = {"Content-Range": f"bytes */{len(content)}", "Content-Length": "0"}
            content, start = b"", 0
        elif start:
            first = start + fault.get("offset", 0)
            handler.send_response(206)
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        else:
            handler.send_response(200)
        body = content[start:]
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            if value is not None:
                handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body[: fault.get("cut", fault.get("reset", len(body)))])
        handler.wfile.flush()
        handler.close_connection = True
        if "reset" in fault:
            # The client has all bytes, then loses the connection.
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _start(self, handler, headers):
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        condition = handler.headers.get("If-Range")
        is_same = condition in (None, headers["ETag"], headers["Last-Modified"])
        return int(asked[1]) if asked and is_same and self.has_ranges else 0


@contextmanager
def serving():
    """Run a `Server` in a thread."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.answer(self)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        server.address = f"http://127.0.0.1:{listener.server_port}"
        thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()
