"""Download a published archive: resumable, and renamed to its final name only after its hash was verified."""

from __future__ import annotations

import errno
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from einstellung.errors import InputError
from einstellung.sources.published import Downloadable
from einstellung.sources.reading import file_hash

_CHUNK = 1 << 18
_TIMEOUT = 30.0  # seconds without a byte
_PATIENCE, _LEAST = 60.0, 64 * 1024  # in so many seconds, at least so many bytes: about 1 kB/s
_NOT_SATISFIABLE = 416

OnProgress = Callable[[int, int | None], object]  # bytes so far, total bytes if known


@dataclass(frozen=True)
class Downloaded:
    """The archive, and whether it had been downloaded before."""

    path: Path
    was_there: bool


def download(
    published: Downloadable, folder: Path, url: str | None = None, on_progress: OnProgress = lambda *_: None
) -> Downloaded:
    """Download the archive into ``folder``, resuming a partial download; its hash is verified before it gets its name."""
    algorithm, right = published.archive_hash
    url = url or published.address
    if not _is_web_address(url):
        raise InputError(f"--url {url}: give an address that begins with http:// or https://")
    target = folder / published.archive
    part = target.with_name(f"{target.name}.part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if target.is_file() and file_hash(target, algorithm) == right:
            return Downloaded(target, was_there=True)
        with FileLock(folder / f".{target.name}.lock", timeout=0):
            if not (part.is_file() and file_hash(part, algorithm) == right):
                _fetch(url, part, published, on_progress)
            _check(url, part, published)
            part.replace(target)
    except Timeout:
        raise InputError(f"another einstellung process is downloading {target}; wait for it") from None
    except OSError as error:
        raise InputError(
            f"cannot write to {folder}: {error.strerror or error}; choose another folder with --to"
        ) from None
    return Downloaded(target, was_there=False)


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _check(url: str, part: Path, published: Downloadable) -> None:
    algorithm, right = published.archive_hash
    if (found := file_hash(part, algorithm)) != right:
        part.unlink()
        raise InputError(
            f"what {url} sent is not the published {published.archive} ({algorithm} {found}, should be {right}); "
            "it was removed: try again, or give another address with --url"
        )


def _fetch(url: str, part: Path, published: Downloadable, on_progress: OnProgress) -> None:
    start = part.stat().st_size if part.is_file() else 0
    with _opened(url, start) as response:
        if start and response.status != http.client.PARTIAL_CONTENT:
            start = 0  # the server ignores the range and sends the whole file
        total = start + int(length) if (length := response.headers.get("Content-Length", "")).isdigit() else None
        received = start
        since, before = time.monotonic(), received
        with part.open("ab" if start else "wb", buffering=0) as file:
            while chunk := _read(response, url, received):
                _write(file, chunk, part)
                received += len(chunk)
                on_progress(received, total)
                if (now := time.monotonic()) - since > _PATIENCE:
                    if received - before < _LEAST:
                        raise _interrupted(url, received, "it has become too slow")
                    since, before = now, received
                if received > published.archive_bytes:
                    return  # too long to be the right file, and it may never end
            os.fsync(file.fileno())
    if total is not None and received < total:
        raise _interrupted(url, received, "the connection was closed")


def _opened(url: str, start: int) -> http.client.HTTPResponse:
    headers = {"User-Agent": "einstellung", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        response: http.client.HTTPResponse = _web_only().open(
            urllib.request.Request(url, headers=headers), timeout=_TIMEOUT
        )
    except urllib.error.HTTPError as error:
        if start and error.code == _NOT_SATISFIABLE:
            return _opened(url, 0)  # the part is longer than the file: start over
        raise InputError(f"{url} answers {error.code} {error.reason}: give another address with --url") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(f"cannot reach {url} ({reason}): check the connection, then rerun the command") from None
    sent = response.headers.get("Content-Range", "")
    if response.status == http.client.PARTIAL_CONTENT and not sent.startswith(f"bytes {start}-"):
        response.close()
        raise InputError(f"{url} sends a different range than requested ({sent}): give another address with --url")
    return response


def _web_only() -> urllib.request.OpenerDirector:
    """An opener for http and https only: a redirect to a file or to ftp is refused."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.UnknownHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    return opener


def _read(response: http.client.HTTPResponse, url: str, received: int) -> bytes:
    try:
        return response.read1(_CHUNK)  # what has arrived: read() would wait for all of it, byte by byte
    except (OSError, http.client.HTTPException) as error:
        raise _interrupted(url, received, str(error) or type(error).__name__) from None


def _interrupted(url: str, received: int, reason: str) -> InputError:
    return InputError(
        f"the download from {url} stopped after {received / 1e6:.1f} MB ({reason}); rerun the command to resume"
    )


def _write(file: BinaryIO, chunk: bytes, part: Path) -> None:
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise InputError(
            f"no space left while writing {part}: free some space and rerun the command to resume"
        ) from None
