"""The reservoir: every image seen is equally likely to be kept, with all that belongs to it."""

from __future__ import annotations

import torch
from scipy.stats import chisquare

from einstellung.learners.reservoir import Reservoir
from einstellung.streams import ImageSet


def numbered(count: int, start: int = 0) -> tuple[ImageSet, torch.Tensor]:
    index = torch.arange(start, start + count)
    images = (index % 256).to(torch.uint8).view(-1, 1, 1, 1).expand(-1, 3, 2, 2)
    return ImageSet(images, index % 7, index, index % 2 == 0), index.float().view(-1, 1).expand(-1, 3)


def test_sampling_is_uniform():
    """Each of 40 images is among the 10 kept with probability 1/4, wherever it stood in the stream."""
    kept = torch.zeros(40)
    for trial in range(2000):
        buffer, draws = Reservoir(10), torch.Generator().manual_seed(trial)
        for start in range(0, 40, 8):
            buffer.add(*numbered(8, start), draws)
        kept[buffer.images.index] += 1
    assert int(kept.sum()) == 2000 * 10
    assert chisquare(kept.numpy()).pvalue > 1e-3


def test_logits_come_from_wherever_the_net_is():
    """Of an accelerator, which a machine need not have: they can be used once they have been asked to come over."""
    images, logits = numbered(4)
    asked = []

    class Elsewhere:
        def to(self, device):
            asked.append(device)
            return logits

    buffer = Reservoir(4)
    buffer.add_computed(images, lambda rows: Elsewhere(), torch.Generator().manual_seed(0))
    assert asked == [torch.device("cpu")]
    assert torch.equal(buffer.logits.sort(dim=0).values, logits)


def test_what_belongs_together_stays_together():
    buffer, draws = Reservoir(16), torch.Generator().manual_seed(0)
    for start in range(0, 100, 10):
        buffer.add(*numbered(10, start), draws)
    images, logits = buffer.draw(16, draws)
    assert torch.equal(images.labels, images.index % 7)
    assert torch.equal(images.has_cue, images.index % 2 == 0)
    assert torch.equal(logits[:, 0].long(), images.index)
    assert torch.equal(images.images[:, 0, 0, 0].long(), images.index % 256)


def test_logits_are_asked_only_for_what_stays():
    """And then the buffer is the one that knew all logits from the start."""
    known, asked = Reservoir(6), Reservoir(6)
    questions = []
    for start, count in ((0, 4), (4, 50), (54, 1), (55, 40)):
        images, logits = numbered(count, start)

        def logits_of(rows, images=images, logits=logits):
            questions.append(images.index[rows].tolist())
            return logits[rows]

        known.add(images, logits, torch.Generator().manual_seed(start))
        asked.add_computed(images, logits_of, torch.Generator().manual_seed(start))
        assert set(questions[-1]) <= set(asked.images.index.tolist())
    assert torch.equal(known.images.index, asked.images.index)
    assert torch.equal(known.logits, asked.logits)
    assert torch.equal(asked.logits[:, 0].long(), asked.images.index)
    assert len(questions) == 3  # image 54 did not stay: nothing was asked


def test_a_draw_has_no_repeats_and_no_empty_slots():
    buffer, draws = Reservoir(50), torch.Generator().manual_seed(0)
    buffer.add(*numbered(12), draws)
    images, _ = buffer.draw(32, draws)
    assert sorted(images.index.tolist()) == list(range(12))
    assert len(buffer) == 12


def test_memory_survives_a_round_trip():
    buffer, draws = Reservoir(5), torch.Generator().manual_seed(0)
    buffer.add(*numbered(9), draws)
    other = Reservoir(5)
    other.load_state_dict(buffer.state_dict())
    assert other.seen == 9
    assert torch.equal(other.images.index, buffer.images.index)
    assert torch.equal(other.logits, buffer.logits)
    empty = Reservoir(5)
    empty.load_state_dict(Reservoir(5).state_dict())
    assert len(empty) == 0
