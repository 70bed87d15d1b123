"""Methods made of methods: a combination with plain training is the method itself, and a pair that is none is refused."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from torch import Tensor

from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.plan import phase_work
from einstellung.experiments.rehearsal import rehearse
from einstellung.learners import Batch, Learner, Methods, learners
from einstellung.learners.combined import use_final_architecture
from einstellung.learners.methods import learner_options
from einstellung.results.config import build_config
from einstellung.streams import Stream, streams

REPLAY = {"buffer": 12, "draw": 4, "replay": "earlier"}


@pytest.mark.parametrize("replay", ["er", "der", "derpp"])
def test_replay_with_plain_training_is_replay(make, through, replay):
    """er+erm = er, and so on: what a part adds is what it adds by itself."""
    losses, values = through(make(f"{replay}+erm", **{replay: REPLAY}))
    own_losses, own_values = through(make(replay, **REPLAY))
    assert torch.allclose(torch.stack(losses), torch.stack(own_losses), rtol=1e-6)
    assert all(torch.allclose(mine, own, atol=1e-7) for mine, own in zip(values, own_values, strict=True))
    plain_losses, _ = through(make("erm"))
    assert losses[:2] == plain_losses[:2], "the first phase is plain training"
    assert losses[2] != plain_losses[2]


def test_one_after_the_other(make, through):
    """Whoever comes second has kept what it keeps from the first phase too: with plain training first, nothing is different."""
    losses, values = through(make("erm-then-derpp", derpp=REPLAY))
    own_losses, own_values = through(make("derpp", **REPLAY))
    assert losses == own_losses
    assert all(torch.equal(mine, own) for mine, own in zip(values, own_values, strict=True))


def test_replay_joins_before_the_method_gets_the_batch(make, through, own_names):
    """A method's own view of a batch includes the images from the buffer, raw ones too."""
    seen = []

    @learners.register("counting")
    class Counting(Learner):
        combines: ClassVar[bool] = True

        def observe(self, batch: Batch) -> Tensor:
            seen.append((len(batch.inputs), len(batch.labels), batch.raw.labels.tolist() == batch.labels.tolist()))
            return super().observe(batch)

    through(make("er+counting", er=REPLAY))
    assert seen == [(6, 6, True)] * 2 + [(10, 10, True)] * 3
    with pytest.raises(InputError, match=r"counting is more than one loss.*use er\+counting"):
        Methods()["derpp+counting"]


def test_what_comes_second_has_the_first_phase_in_its_buffer(make, through):
    """With the options that it has by itself, it would replay within its own phases only."""
    learner = make("erm-then-er")
    through(learner)
    assert learner.active.options.replay == "earlier"
    assert learner.active.buffer.seen == sum(len(phase.train) for phase in learner.context.phases)
    with pytest.raises(InputError, match=r"learners\.erm-then-er\.er\.replay is 'within'"):
        learner_options("erm-then-er", {"er": {"replay": "within"}})
    with pytest.raises(InputError, match=r"derpp\.joined is true: in a combination each part has its own pass"):
        learner_options("derpp+erm", {"derpp": {"joined": True}})


def test_one_after_the_other_needs_two_phases(own_names, tasks):
    @streams.register("single")
    def single() -> Stream:
        grey = (0.5, 0.5, 0.5)
        return Stream("single", tasks[:1], (), (), None, None, 2, ("no", "yes"), grey, grey)

    values = {
        "methods": ["erm", "erm-then-er"],
        "stream": {"name": "single"},
        "training": {"epochs": [1], "milestones": []},
    }
    config = resolve(build_config(values))
    with pytest.raises(InputError, match="'erm-then-er' needs a second phase"):
        rehearse(config, build_stream(config))


def test_the_price_is_that_of_the_parts():
    config = resolve(build_config({"methods": ["er+erm", "derpp+erm"], "training": {"epochs": [2, 3]}}))
    sizes = [100, 50]
    assert phase_work(config, "er+erm", sizes, 0) == 200, "a plain first phase"
    assert phase_work(config, "er+erm", sizes, 1) == 2 * 150
    assert phase_work(config, "derpp+erm", sizes, 1) == 3 * 150


def test_each_phase_has_the_price_of_the_method_at_work_in_it():
    options = learner_options("erm-then-er", {"er": {"draw": 8}})
    assert [Methods()["erm-then-er"].workload.price(options, [100, 50], number, 32) for number in (0, 1)] == [1, 1.25]


def test_a_draw_has_the_price_of_the_batch_that_it_joins():
    """Two nets see lff's batches, and so a draw that joins them; one that is a pass of its own goes through one net."""
    sizes = [100, 50]
    for name, extra in (("er+lff", 2 * 8), ("der+lff", 8)):
        replay = name.partition("+")[0]
        options = learner_options(name, {replay: {"draw": 8}})
        assert Methods()[name].workload.price(options, sizes, 1, 32) == 2 + extra / 32


def test_the_second_method_is_tried_before_anything_is_trained():
    """What it refuses, it would refuse after the first phase."""
    config = resolve(
        build_config({"methods": ["erm", "erm-then-cff_aug"], "stream": {"name": "shapes", "train_per_class": 4}})
    )
    with pytest.raises(InputError, match=r"cff_aug"):
        rehearse(config, build_stream(config))


def test_a_net_is_restored_in_its_final_shape(make):
    """Where a stored net is read back, it is that of the last phase."""
    learner, lle = make("erm-then-lle"), make("lle")
    assert learner.net.state_dict().keys() != lle.net.state_dict().keys()
    use_final_architecture(learner)
    assert learner.net.state_dict().keys() == lle.net.state_dict().keys()
    assert make("er+lle").net.state_dict().keys() == lle.net.state_dict().keys()
