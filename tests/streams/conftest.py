from __future__ import annotations

import pytest

from einstellung.cues import PatchCue
from einstellung.streams import Stream, shapes


@pytest.fixture(scope="session")
def small_stream() -> Stream:
    return shapes(PatchCue(), train_per_class=10, test_per_class=3)
