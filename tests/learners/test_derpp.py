"""DER++: its loss by hand, what it remembers, and a whole run against one written out plainly."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F

from einstellung.learners import Batch
from einstellung.randomness import generator
from einstellung.streams import ImageSet, Presentation


def begun(make, batch_of, stream, phase=1, **options):
    learner = make("derpp", buffer=6, draw=4, **options)
    learner.begin_phase(stream.phases[phase])
    learner.begin_epoch(stream.phases[phase], 1)
    learner.net.train()
    return learner


def test_the_first_step_is_plain_and_fills_the_buffer(make, batch_of, stream):
    learner = begun(make, batch_of, stream)
    batch = batch_of(stream.phases[1], range(5))
    with torch.no_grad():
        logits = copy.deepcopy(learner.net)(batch.inputs)
    loss = learner.observe(batch)
    assert torch.allclose(loss, F.cross_entropy(logits, batch.labels))
    assert torch.equal(learner.buffer.images.index[:5], batch.raw.index)
    assert torch.allclose(learner.buffer.logits[:5], logits)  # logits from before the step


def test_the_loss_by_hand(make, batch_of, stream):
    alpha, beta = 0.3, 0.7
    learner = begun(make, batch_of, stream, alpha=alpha, beta=beta)
    phase = stream.phases[1]
    learner.observe(batch_of(phase, range(6)))
    twin, buffer = copy.deepcopy(learner.net), copy.deepcopy(learner.buffer)
    batch = batch_of(phase, range(6, 12))

    seed, presentation = learner.context.seed, learner.context.presentation
    draws = generator(seed, "replay", "T2", 1)
    augmentation, cue = generator(seed, "replay-augmentation", "T2", 1), generator(seed, "replay-cue", "T2", 1)
    first, logits = buffer.draw(4, draws)
    first_inputs = presentation.training(first, augmentation, cue)
    second, _ = buffer.draw(4, draws)
    second_inputs = presentation.training(second, augmentation, cue)
    loss = F.cross_entropy(twin(batch.inputs), batch.labels)
    loss = loss + alpha * ((twin(first_inputs) - logits) ** 2).mean()
    loss = loss + beta * F.cross_entropy(twin(second_inputs), second.labels)
    loss.backward()

    ours = learner.observe(batch)
    assert torch.allclose(ours, loss.detach(), rtol=1e-5)
    for p, q in zip(learner.net.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q - 0.1 * q.grad, atol=1e-6)


class WrittenOut:
    """DER++ without anything shared: lists for a buffer, one image at a time through the reservoir."""

    def __init__(self, net, presentation, seed, buffer, draw, alpha, beta):
        self.net, self.presentation, self.seed = net, presentation, seed
        self.size, self.draw, self.alpha, self.beta = buffer, draw, alpha, beta
        self.entries, self.seen = [], 0

    def drawn(self):
        chosen = [self.entries[k] for k in torch.randperm(len(self.entries), generator=self.draws)[: self.draw]]
        images = ImageSet(*(torch.stack([entry[part] for entry in chosen]) for part in range(4)))
        inputs = self.presentation.training(images, self.augmentation, self.cue)
        return inputs, images.labels, torch.stack([entry[4] for entry in chosen])

    def learn(self, phase, epochs, batch_size):
        optimiser = torch.optim.SGD(self.net.parameters(), lr=0.1)
        for epoch in range(1, epochs + 1):
            names = ("buffer", "replay", "replay-augmentation", "replay-cue")
            places, self.draws, self.augmentation, self.cue = (
                generator(self.seed, n, phase.name, epoch) for n in names
            )
            for raw, inputs in presented(self.presentation, self.seed, phase, epoch, batch_size):
                logits = self.net(inputs)
                loss = F.cross_entropy(logits, raw.labels)
                if self.entries:
                    past_inputs, _, past = self.drawn()
                    loss = loss + self.alpha * F.mse_loss(self.net(past_inputs), past)
                    past_inputs, labels, _ = self.drawn()
                    loss = loss + self.beta * F.cross_entropy(self.net(past_inputs), labels)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                random = torch.rand(len(raw), generator=places, dtype=torch.float64)
                for row in range(len(raw)):
                    entry = (raw.images[row], raw.labels[row], raw.index[row], raw.has_cue[row], logits[row].detach())
                    self.seen += 1
                    if len(self.entries) < self.size:
                        self.entries.append(entry)
                    elif (slot := int(random[row] * self.seen)) < self.size:
                        self.entries[slot] = entry


def presented(presentation, seed, phase, epoch, batch_size):
    augmentation, cue = (generator(seed, purpose, phase.name, epoch) for purpose in ("augmentation", "cue"))
    for rows in torch.randperm(len(phase.train), generator=generator(seed, "order", phase.name, epoch)).split(
        batch_size
    ):
        raw = phase.train.take(rows)
        yield raw, presentation.training(raw, augmentation, cue)


def test_replay_within_a_phase_is_the_written_out_method_bit_for_bit(make, stream):
    settings = {"buffer": 10, "draw": 4, "alpha": 0.3, "beta": 0.7}
    learner = make("derpp", **settings)
    plain = WrittenOut(copy.deepcopy(learner.net).train(), Presentation(stream), learner.context.seed, **settings)
    for phase in stream.phases:
        learner.begin_phase(phase)
        for epoch in (1, 2):
            learner.net.train()
            learner.begin_epoch(phase, epoch)
            for raw, inputs in presented(learner.context.presentation, learner.context.seed, phase, epoch, 16):
                learner.observe(Batch(inputs, raw.labels, raw))
        learner.end_phase(phase)
        plain.learn(phase, 2, 16)
    for name, value in plain.net.state_dict().items():
        assert torch.equal(learner.net.state_dict()[name], value), name
    assert learner.buffer.images.index.tolist() == [int(entry[2]) for entry in plain.entries]
    assert torch.equal(learner.buffer.logits, torch.stack([entry[4] for entry in plain.entries]))
    assert learner.buffer.seen == plain.seen


def test_replay_differs_from_plain_training_in_the_first_phase_too(make, batch_of, stream):
    """That is why its first phase is its own."""
    learner, plain = begun(make, batch_of, stream, phase=0), make("sgd")
    plain.begin_phase(stream.phases[0])
    plain.net.train()
    for rows in (range(4), range(4, 8)):
        learner.observe(batch_of(stream.phases[0], rows))
        plain.observe(batch_of(stream.phases[0], rows))
    assert not torch.allclose(learner.net.head.weight, plain.net.head.weight)
