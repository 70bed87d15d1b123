from __future__ import annotations

import pytest
from torch import Tensor

from einstellung.cues import PatchCue
from einstellung.modalities import transfer
from einstellung.results.config import StudyConfig, build_config
from einstellung.streams import Stream, shapes

SMALL = {"size": 12, "train_per_class": 6, "test_per_class": 2}


@pytest.fixture(scope="session")
def stream() -> Stream:
    return shapes(PatchCue(), **SMALL)


@pytest.fixture(scope="session")
def config() -> StudyConfig:
    return build_config(
        {
            "stream": {"name": "shapes", **SMALL},
            "backbone": {"name": "resnet18", "width": 8},
            "training": {"epochs": [1, 2], "batch_size": 8, "precision": "fp32"},
            "learners": {
                "derpp": {"buffer": 20, "draw": 4},
                "ewc_on": {"e_lambda": 1.0, "fisher_images": 20},
                "gpm": {"samples": 16},
                "dgr": {"z": 4, "generator_epochs": 1},
            },
        }
    )


@pytest.fixture
def one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The meta device in the place of a CUDA device; memory that cannot be pinned here is taken as it is."""
    monkeypatch.setattr(transfer, "_NON_BLOCKING", frozenset({"meta"}))
    monkeypatch.setattr(Tensor, "pin_memory", lambda self: self)
