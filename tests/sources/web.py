"""A web server of the tests' own, and what it sends."""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from einstellung.sources import CIFAR100

CONTENT = bytes(range(256)) * 4096  # 1 MB, several chunks
PUBLISHED = replace(CIFAR100, archive_md5=hashlib.md5(CONTENT).hexdigest(), archive_bytes=len(CONTENT))
NAME = CIFAR100.archive


class Server(ThreadingHTTPServer):
    """Sends ``content``; understands ranges or not, hangs up after ``hang_up_after`` bytes, notes what it was asked."""

    daemon_threads = True
    content = CONTENT
    ranges = True
    length = True
    hang_up_after: int | None = None
    status = 200
    pause = 0.0  # seconds after each byte
    location: str | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str | None] = []

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is part of the tests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/{NAME}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append(wanted)
        if server.location is not None:
            self.send_response(302)
            self.send_header("Location", server.location)
            self.end_headers()
            return
        if server.status != 200:
            self.send_error(server.status)
            return
        start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1]) if wanted and server.ranges else 0
        if start >= len(server.content):
            self.send_error(416)
            return
        body = server.content[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.content) - 1}/{len(server.content)}")
        if server.length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        while server.pause and body:
            self.wfile.write(body[:1])
            self.wfile.flush()
            body = body[1:]
            time.sleep(server.pause)
        self.wfile.write(body[: server.hang_up_after])

    def log_message(self, *_: object) -> None:
        """Silent."""
