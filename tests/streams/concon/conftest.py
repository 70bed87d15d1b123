from __future__ import annotations

import pytest

from einstellung.scenes.dataset_writer import write_dataset
from einstellung.scenes.manifest import DatasetSpec
from einstellung.scenes.rules import PAPER_RULES
from einstellung.scenes.work_chunks import RenderSettings
from einstellung.streams.concon import concon
from einstellung.streams.concon.task_datasets import TaskDatasets, resolved_options

FEW = {"train": 40, "val": 5, "test": 20}  # scenes per class and task


@pytest.fixture(scope="module")
def tables():
    """Strict tasks as attribute tables, without rendering."""
    return concon(input_modality="attributes", **FEW)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder of small pictures, and the stream rendered here with the same settings."""
    root = tmp_path_factory.mktemp("concon")
    counts = {"train": 3, "val": 2, "test": 4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EINSTELLUNG_CACHE", str(root / "cache"))
        write_dataset(
            DatasetSpec(RenderSettings(PAPER_RULES, 32, 7, "numba"), ("strict", "unconfounded"), counts),
            root / "made",
            1,
            lambda done, total: None,
        )
        rendered = concon(size=32, seed=7, backend="numba", **counts)
        read = concon(path=str(root / "made"), size=32, **counts)
    return root / "made", rendered, read


def strict_datasets() -> TaskDatasets:
    """The datasets behind :func:`tables`."""
    return TaskDatasets(PAPER_RULES, "strict", "attributes", resolved_options(FEW, 64, 0, "numba"), None, None)
