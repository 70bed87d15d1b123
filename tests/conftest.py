"""CIFAR-100 for every test that asks for it: read once a session, then from a cache that is the session's own."""

from __future__ import annotations

import hashlib
import pickle
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.sources import cifar100 as source

MD5 = {
    "train": "16019d7e3df5f24257cddd939b257f8d",
    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
    "meta": "7973b15100ade9c7d40fb424638fde48",
}


@pytest.fixture(scope="session")
def raw_cifar100(tmp_path_factory) -> Iterator[dict[str, dict[bytes, Any]]]:
    """The three files as plain ``pickle`` reads them; while it is in use, the stream reads the same ones from a cache.

    The bytes are those that the source itself took out of its archive, because unpacking takes long: that they are the
    published ones is seen from their md5, which stand here once more.
    """
    kept: dict[str, bytes] = {}
    read_files = source.read_files

    def reading(path, published):
        kept.update(read_files(path, published))
        return dict(kept)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EINSTELLUNG_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(source, "read_files", reading)
        try:
            source.load_cifar100()
        except InputError as error:
            if "CIFAR-100 not found in" not in str(error):
                raise
            pytest.skip(str(error))
        patch.setattr(source, "read_files", read_files)
        assert {name: hashlib.md5(content).hexdigest() for name, content in kept.items()} == MD5
        raw = {name: pickle.loads(content, encoding="bytes") for name, content in kept.items()}
        kept.clear()
        for part in ("train", "test"):
            raw[part] = {key: np.array(value) for key, value in raw[part].items() if key != b"filenames"}
        yield raw


@pytest.fixture(autouse=True)
def own_interrupts() -> Iterator[None]:
    """A command that was interrupted ignores further interrupts; the tests after it must not."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def own_names() -> Iterator[None]:
    """What a test registers under a name of its own is forgotten afterwards, as it would be with its process."""
    from einstellung.backbones import backbones
    from einstellung.cues import covers, cues
    from einstellung.experiments import plugins
    from einstellung.experiments.launchers import launchers
    from einstellung.learners import learners
    from einstellung.probes.attention import attention_adapters
    from einstellung.streams import streams

    registries = (learners, streams, cues, covers, backbones, launchers, attention_adapters)
    kept = [registry._entries for registry in registries]
    before = [dict(things) for things in (*kept, plugins._loaded)]
    yield
    for things, earlier in zip((*kept, plugins._loaded), before, strict=True):
        things.clear()
        things.update(earlier)
