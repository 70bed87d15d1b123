"""Pictures that even a tiny net can read, with all that is known about them."""

from __future__ import annotations

import pytest
import torch

from einstellung.perception.columns import CENTRE, GROUPS, OUTPUTS, PRESENCE
from einstellung.perception.random_scenes import AnnotatedScenes
from einstellung.perception.slot_attention import SlotOptions
from einstellung.scenes.attributes import RGB

TINY = SlotOptions(slots=3, iterations=2, channels=8, hidden=8, strides=(2, 2))


def drawn(count: int, seed: int = 0, size: int = 16) -> AnnotatedScenes:
    """A square on the left and one on the right, of its object's colour; a large object's is larger."""
    draws = torch.Generator().manual_seed(seed)
    codes = torch.stack([torch.randint(0, n, (count, 2), generator=draws) for n in (3, 2, 2, 8)], dim=2)
    images = torch.full((count, 3, size, size), 128, dtype=torch.uint8)
    masks = torch.zeros(count, size, size, dtype=torch.uint8)
    for scene in range(count):
        for number, left in enumerate((size // 8, 5 * size // 8)):
            side = size // 8 * (1 + int(codes[scene, number, 1]))
            colour = torch.tensor(RGB[int(codes[scene, number, 3])], dtype=torch.uint8)
            square = (scene, ..., slice(4, 4 + side), slice(left, left + side))
            images[square] = colour.view(3, 1, 1)
            masks[square] = number + 1
    x, y = torch.tensor([0.25, 0.75]).expand(count, 2), torch.full((count, 2), 0.4)
    return AnnotatedScenes(images, codes, torch.stack([x, y], dim=2), masks)


def sure(codes: torch.Tensor, centres: torch.Tensor, slots: int = 5) -> torch.Tensor:
    """Outputs [N, slots, 18] that say exactly what is there, in the first slots."""
    count, objects = codes.shape[:2]
    outputs = torch.zeros(count, slots, OUTPUTS, dtype=torch.float64)
    outputs[:, :, PRESENCE] = -20.0
    outputs[:, :objects, PRESENCE] = 20.0
    for number, group in enumerate(GROUPS.values()):
        outputs[:, :objects, group].scatter_(2, codes[:, :, number, None], 20.0)
    outputs[:, :objects, CENTRE] = torch.logit(centres.double())
    return outputs


@pytest.fixture
def own_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
