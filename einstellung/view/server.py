"""The server: GET and HEAD on a loopback address, behind a token. It reads results folders and never writes.

- Every address begins with the token. Whoever does not know it learns nothing, not even which studies there are.
- The Host header must name this machine: a web site that points its own name at 127.0.0.1 (DNS rebinding) is refused.
- A study is found by its key in the catalogue, so that no path from an address is ever opened.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import os
import secrets
import shutil
import socket
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from einstellung.errors import InputError
from einstellung.view.api import Api, UnknownStudyError
from einstellung.visible import visible_data

LOOPBACK = "127.0.0.1"
_OWN_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: A report runs its own inline script and can reach nothing: no address, no window, no frame. It keeps its origin, because its
#: script may use the clipboard or storage, as it may when it is opened as a file.
_REPORT = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox allow-scripts allow-same-origin allow-downloads allow-modals"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_PAGE_FILES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "view.css": ("view.css", "text/css; charset=utf-8"),
    "view.js": ("view.js", "text/javascript; charset=utf-8"),
    "chart.js": ("chart.js", "text/javascript; charset=utf-8"),
}


class ViewServer(ThreadingHTTPServer):
    """Serves one :class:`Api`; ``address`` is what to open."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, api: Api, port: int = 0, host: str = LOOPBACK) -> None:
        self.api = api
        self.token = secrets.token_urlsafe(16)
        self.host = host
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError, TypeError, ValueError) as error:  # the last two: no name of a host
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"cannot listen on {host} port {port}: {reason}; choose another --port") from None

    @property
    def address(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.server_address[1]}/{self.token}/"

    def server_bind(self) -> None:
        """Bind without the name lookup that the base class makes, which can take seconds."""
        if self.allow_reuse_address:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that leaves in the middle of an answer is no error; anything else goes to standard error in one line."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"einstellung view: {type(error).__name__}: {error}", file=sys.stderr)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("localhost")
    (True, True, False, True)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_allowed(header: str | None, bound: str) -> bool:
    """Whether a request was addressed to this machine by a name that no web site can point here.

    >>> host_allowed("127.0.0.1:8000", "127.0.0.1"), host_allowed("localhost:9", "127.0.0.1"), host_allowed("[::1]:80", "::1")
    (True, True, True)
    >>> host_allowed("evil.example:8000", "127.0.0.1"), host_allowed("192.168.1.7", "127.0.0.1"), host_allowed(None, "::1")
    (False, False, False)
    >>> host_allowed("192.168.1.7:8000", "0.0.0.0"), host_allowed("evil.example", "0.0.0.0")
    (True, False)
    """
    if not header or any(letter in header for letter in "/@?#\\ \t,"):
        return False
    try:
        name = urlsplit(f"//{header}").hostname
        urlsplit(f"//{header}").port  # noqa: B018 (refuses what is no number)
    except ValueError:
        return False
    if name is None:
        return False
    if is_loopback(bound):
        return is_loopback(name)
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in ("localhost", bound.lower())
    return True  # an address, not a name: nothing to rebind


class _Handler(BaseHTTPRequestHandler):
    server: ViewServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "einstellung", ""
    timeout = 60  # of an idle connection

    def do_GET(self) -> None:
        self._respond()

    def do_HEAD(self) -> None:
        self._respond()

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Every other method is refused in the same way."""
        if name.startswith("do_"):
            return self._refuse_method
        raise AttributeError(name)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: addresses hold the token."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Malformed requests, in plain text and with all headers."""
        self.close_connection = True
        self._send_text(HTTPStatus(code), message or HTTPStatus(code).phrase)

    def _refuse_method(self) -> None:
        self.close_connection = True  # its body was not read
        self._send_text(
            HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are allowed: the view is read-only", Allow="GET, HEAD"
        )

    def _respond(self) -> None:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not host_allowed(hosts[0], self.server.host):
            self._send_text(HTTPStatus.FORBIDDEN, "this server accepts only the address printed by 'einstellung view'")
            return
        address = urlsplit(self.path)
        token, slash, rest = address.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            self._send_text(
                HTTPStatus.FORBIDDEN, "open the address printed by 'einstellung view', which ends in a token"
            )
            return
        if not slash:
            self._send(HTTPStatus.PERMANENT_REDIRECT, b"", "text/plain", Location=f"/{token}/")
            return
        try:
            self._route(rest, parse_qs(address.query, max_num_fields=100))
        except UnknownStudyError:
            self._send_json({"error": "no such study: it may have been moved or deleted"}, HTTPStatus.NOT_FOUND)
        except InputError as error:
            self._send_json({"error": " ".join(str(error).split())}, HTTPStatus.UNPROCESSABLE_ENTITY)
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 (a damaged folder must not end the server)
            self._send_json({"error": f"cannot be read ({type(error).__name__})"}, HTTPStatus.INTERNAL_SERVER_ERROR)

    def _route(self, rest: str, query: dict[str, list[str]]) -> None:
        api, key = self.server.api, query.get("study", [""])[0]
        if rest in _PAGE_FILES:
            name, kind = _PAGE_FILES[rest]
            content = (files("einstellung.view") / "page" / name).read_bytes()
            self._send(HTTPStatus.OK, content, kind, **{"Content-Security-Policy": _OWN_PAGE})
        elif rest == "api/studies":
            self._send_json(api.studies())
        elif rest == "api/study":
            self._send_json(api.study(key))
        elif rest == "api/verdict":
            self._send_json(api.verdict(key))
        elif rest == "api/curves":
            self._send_json(api.curves(key, next(iter(query.get("phase", [])), None), query.get("split", [])))
        elif rest == "api/compare":
            self._send_json(api.compare(query.get("study", [])))
        elif rest.startswith("page/"):
            place, _, name = rest.removeprefix("page/").rpartition("/")
            self._send_page(api.page(place, name))
        else:
            self._send_text(HTTPStatus.NOT_FOUND, "nothing found at this address")

    def _send_page(self, page: Path | None) -> None:
        if page is None:
            self._send_text(HTTPStatus.NOT_FOUND, "no such page: it is written when the study is reported")
            return
        descriptor = os.open(page, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            self._send_head(HTTPStatus.OK, "text/html; charset=utf-8", size, **{"Content-Security-Policy": _REPORT})
            if self.command != "HEAD":
                shutil.copyfileobj(stream, self.wfile)

    def _send_json(self, value: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        # ASCII only: names of files may hold bytes that are no text, which JSON can escape and UTF-8 cannot write
        self._send(status, json.dumps(visible_data(value), allow_nan=False).encode("ascii"), "application/json")

    def _send_text(self, status: HTTPStatus, text: str, **headers: str) -> None:
        self._send(status, f"{text}\n".encode(), "text/plain; charset=utf-8", **headers)

    def _send(self, status: HTTPStatus, content: bytes, kind: str, **headers: str) -> None:
        self._send_head(status, kind, len(content), **headers)
        if self.command != "HEAD":
            self.wfile.write(content)

    def _send_head(self, status: HTTPStatus, kind: str, size: int, **headers: str) -> None:
        self.send_response(status)
        named = {"Content-Type": kind, "Content-Length": str(size), "Content-Security-Policy": "default-src 'none'"}
        for name, value in (named | _HEADERS | headers).items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
