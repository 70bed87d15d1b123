"""Views of pictures differ where they should."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from einstellung.probes.last_layer.features import random_characters

FONT = Path("/usr/share/fonts/opentype/noto/NotoSerifCJK-ExtraLight.ttc")


@pytest.mark.skipif(not FONT.is_file(), reason="needs a font with Chinese characters (fonts-noto-cjk-extra)")
def test_watermarks_differ_from_seed_to_seed_and_from_version_to_version():
    black = torch.zeros(2, 3, 64, 64, dtype=torch.uint8)
    views = [random_characters(FONT, seed, draw) for seed, draw in ((0, 0), (0, 1), (1, 0))]
    assert len({view.name for view in views}) == 3
    drawn = [view.of(black, 0) for view in views]
    assert not torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert torch.equal(drawn[0], random_characters(FONT, 0, 0).of(black, 0))
