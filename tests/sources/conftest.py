from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from einstellung.sources import PublishedDataset, downloading
from tests.sources.archives import published_as, small_files
from tests.sources.web import Server


@pytest.fixture(scope="session")
def files() -> dict[str, bytes]:
    return small_files()


@pytest.fixture(scope="session")
def published(files) -> PublishedDataset:
    return published_as(files)


@pytest.fixture(autouse=True)
def _own_places(tmp_path, monkeypatch):
    """Neither the user's data nor the user's cache: everything is looked for below the test's own folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EINSTELLUNG_DATA", raising=False)
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(downloading, "_TIMEOUT", 10.0)
    with Server() as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()
