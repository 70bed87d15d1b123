"""How values reach a device: asked of a tensor that only writes down what is done to it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch

from einstellung.modalities.transfer import to_device


@dataclass
class Watched:
    device: torch.device
    done: list[tuple[object, ...]] = field(default_factory=list)

    def pin_memory(self) -> Watched:
        self.done.append(("pinned",))
        return self

    def to(self, device: torch.device, non_blocking: bool = False) -> Watched:
        self.done.append((str(device), "by itself" if non_blocking else "waited for"))
        return Watched(device, self.done)


@pytest.mark.parametrize(
    ("start", "goal", "done"),
    [
        ("cpu", "cuda", [("pinned",), ("cuda", "by itself")]),
        ("cpu", "cuda:1", [("pinned",), ("cuda:1", "by itself")]),
        ("cpu", "mps", [("mps", "waited for")]),  # torch's other way there reads memory that was given away
        ("cuda", "cuda", [("cuda", "waited for")]),  # nothing to do, or between two devices: torch knows how
        ("cpu", "cpu", [("cpu", "waited for")]),
    ],
)
def test_only_a_cuda_device_copies_by_itself_and_only_from_pinned_memory(start, goal, done):
    values = Watched(torch.device(start))
    assert to_device(values, torch.device(goal)).device == torch.device(goal)
    assert values.done == done


def test_what_is_there_already_is_not_copied():
    values = torch.arange(3)
    assert to_device(values, torch.device("cpu")) is values
