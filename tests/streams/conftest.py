from __future__ import annotations

import pytest

from einstellung.cues import PatchCue
from einstellung.scenes.dataset_writer import write_dataset
from einstellung.scenes.manifest import DatasetSpec
from einstellung.scenes.rules import PAPER_RULES
from einstellung.scenes.work_chunks import RenderSettings
from einstellung.streams import Stream, shapes
from einstellung.streams.concon import concon
from einstellung.streams.concon.lots import Lots, resolved_making

FEW = {"train": 40, "val": 5, "test": 20}  # scenes of a class and task


@pytest.fixture(scope="session")
def small_stream() -> Stream:
    return shapes(PatchCue(), train_per_class=10, test_per_class=3)


@pytest.fixture(scope="module")
def tables():
    """Strict tasks as tables of attributes: nothing is rendered for them."""
    return concon(sees="attributes", **FEW)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder of small pictures, and the stream that is drawn here with the same settings."""
    place = tmp_path_factory.mktemp("concon")
    counts = {"train": 3, "val": 2, "test": 4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EINSTELLUNG_CACHE", str(place / "cache"))
        write_dataset(
            DatasetSpec(RenderSettings(PAPER_RULES, 32, 7, "numba"), ("strict", "unconfounded"), counts),
            place / "made",
            1,
            lambda done, total: None,
        )
        drawn = concon(size=32, seed=7, backend="numba", **counts)
        read = concon(path=str(place / "made"), size=32, **counts)
    return place / "made", drawn, read


def lots_of_strict() -> Lots:
    """The scenes behind :func:`tables`, lot by lot."""
    dataset_writer = resolved_making(FEW, 64, 0, "numba")
    return Lots(PAPER_RULES, "strict", "attributes", dataset_writer, None, None)
