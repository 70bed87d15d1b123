"""Training as a function of its state, its seed and the number of the epoch; and that it learns."""

from __future__ import annotations

import torch

from einstellung.perception.accuracy import perception_accuracy
from einstellung.perception.inference import outputs_of
from einstellung.perception.slot_attention import SlotOptions
from einstellung.perception.trainer import Trainer

from .conftest import TINY, drawn


def trainer(
    count: int = 20, seed: int = 0, epochs: int = 3, options: SlotOptions = TINY, batch_size: int = 8
) -> Trainer:
    return Trainer(drawn(count), options, epochs=epochs, batch_size=batch_size, lr=0.003, seed=seed)


def test_a_restored_training_equals_one_that_was_never_stopped():
    whole, first = trainer(), trainer()
    for number in (1, 2, 3):
        torch.manual_seed(number)  # nobody draws from here
        whole.epoch(number)
    first.epoch(1)
    kept = {name: value.clone() for name, value in first.tensors().items()}
    torch.rand(11)
    second = trainer()
    second.restore(kept, first.steps)
    second.epoch(2)
    second.epoch(3)
    assert second.steps == whole.steps == 9
    tensors = whole.tensors()
    assert kept.keys() == tensors.keys()
    assert all(torch.equal(value, tensors[name]) for name, value in second.tensors().items())


def test_the_seed_decides():
    one, same, other = trainer(), trainer(), trainer(seed=1)
    assert one.epoch(1) == same.epoch(1) != other.epoch(1)
    assert one.epoch(1) != one.epoch(2)


def test_progress_counts_every_scene_once():
    on_progress: list[int] = []
    trainer(count=19).epoch(1, on_progress.append)
    assert on_progress == [8, 8, 3]


def test_it_learns_what_can_be_seen():
    """Colour and size are in these pictures, shape and material are not."""
    options = SlotOptions(slots=3, iterations=2, channels=16, hidden=16, strides=(2, 2))
    learner = trainer(count=128, epochs=15, options=options, batch_size=8)
    losses = [learner.epoch(number) for number in range(1, 16)]
    unseen = drawn(100, seed=1)
    found = perception_accuracy(outputs_of(learner.net, unseen.images), unseen.codes, unseen.centres)
    assert losses[-1] < 0.7 * losses[0]
    assert found["recall"] > 0.9
    assert found["precision"] > 0.9
    assert found["attributes"]["size"] > 0.75  # by chance 1/2
    assert found["attributes"]["color"] > 0.18  # by chance 1/8; of 200 objects, the first colours are told apart
    assert found["attributes"]["material"] < 0.7
