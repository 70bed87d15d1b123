"""A server on loopback, asked by plain HTTP."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from einstellung.view.api import Api
from einstellung.view.server import ViewServer


class Client:
    """Asks a server; ``get`` is with its token and Host, ``ask`` exactly as told."""

    def __init__(self, server: ViewServer) -> None:
        self.server = server
        self.port: int = server.server_address[1]

    def ask(
        self, path: str, method: str = "GET", host: str | None = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True)
        for name, value in {"Host": host or f"127.0.0.1:{self.port}", **headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def get(self, path: str) -> tuple[http.client.HTTPResponse, bytes]:
        return self.ask(f"/{self.server.token}/{path}")

    def json(self, path: str) -> Any:
        answer, content = self.get(path)
        assert answer.status == 200, content
        return json.loads(content)


@contextmanager
def serving(*folders: Path) -> Iterator[Client]:
    server = ViewServer(Api(folders))
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield Client(server)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def serve() -> Iterator[Callable[..., Client]]:
    with ExitStack() as open_servers:
        yield lambda *folders: open_servers.enter_context(serving(*folders))
