"""The plug-in inside Avalanche's own strategies."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import pytest
import torch
from avalanche.core import SupervisedPlugin
from avalanche.training.supervised import DER, EWC, Cumulative, JointTraining, Naive, Replay

from einstellung.bridges import Recorder
from einstellung.bridges.avalanche import ERIPlugin, avalanche_benchmark, scratch_t2
from einstellung.cli import main
from einstellung.diagnoses.rigidity.score import score
from einstellung.errors import InputError
from einstellung.streams import Presentation
from einstellung.timeline import Timeline
from einstellung.training import Evaluator

STRATEGIES = {
    "naive": Naive,
    "ewc_online": partial(EWC, ewc_lambda=1.0, mode="online", decay_factor=1.0),
    "replay": partial(Replay, mem_size=40),
    "replay_large": partial(Replay, mem_size=140),  # more kept images than T2 has
    "der": partial(DER, mem_size=40, batch_size_mem=8),
    "cumulative": Cumulative,
}
EPOCHS = (1, 2)


@pytest.fixture(scope="module")
def benchmark(stream):
    return avalanche_benchmark(stream)


@pytest.fixture
def build(tiny_net):
    def make(strategy, *plugins, **options):
        net = tiny_net()
        optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        settings = {"criterion": torch.nn.CrossEntropyLoss(), "train_mb_size": 16, "evaluator": None, **options}
        return strategy(model=net, optimizer=optimiser, plugins=list(plugins), **settings)

    return make


def train(strategy, benchmark, epochs=EPOCHS, **loader):
    torch.manual_seed(3)
    for experience, count in zip(benchmark.train_stream, epochs, strict=True):
        strategy.train_epochs = count
        strategy.train(experience, **loader)
    return strategy


class Watch(SupervisedPlugin):
    """The sizes of the mini-batches that were learned, replayed images included."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def after_training_iteration(self, strategy, **kwargs):
        self.sizes.append(len(strategy.mb_y))


def weights(strategy):
    return {name: value.clone() for name, value in strategy.model.state_dict().items()}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_ends_in_a_timeline_with_all_splits_and_exact_epochs(name, build, benchmark, stream, tmp_path):
    plugin = ERIPlugin((name, 1, tmp_path), stream)
    train(build(STRATEGIES[name], plugin), benchmark)
    timeline = Timeline.read(tmp_path / f"{name}-seed1" / "timeline.csv")
    assert set(timeline.splits) == {split.name for split in stream.splits}
    for phase, epochs in zip(("T1", "T2"), EPOCHS, strict=True):
        for split in timeline.splits:
            assert timeline.curve(name, 1, phase, split)[0].tolist() == list(range(epochs + 1))


@pytest.mark.parametrize("name", ["replay", "der"])
def test_replayed_images_make_batches_larger_and_do_not_count(name, build, benchmark, stream):
    watch, plugin = Watch(), ERIPlugin((name, 1, None), stream)
    train(build(STRATEGIES[name], watch, plugin), benchmark)
    t1, t2 = (len(phase.train) for phase in stream.phases)
    assert sum(watch.sizes) > EPOCHS[0] * t1 + EPOCHS[1] * t2
    assert plugin.timeline().curve(name, 1, "T2", "T2_val")[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_same_seed_gives_the_same_weights_with_and_without_the_plug_in(name, build, benchmark, stream):
    with_plugin = train(build(STRATEGIES[name], ERIPlugin((name, 1, None), stream)), benchmark)
    without = weights(train(build(STRATEGIES[name]), benchmark))
    assert all(torch.equal(value, without[key]) for key, value in weights(with_plugin).items())


def test_measures_what_our_own_evaluator_measures(build, benchmark, stream):
    plugin = ERIPlugin(("naive", 1, None), stream)
    strategy = train(build(Naive, plugin), benchmark)
    evaluator = Evaluator(stream, Presentation(stream), nullcontext)
    for measured in evaluator.measure(strategy.model, [split.name for split in stream.splits]):
        curve = plugin.timeline().curves("naive", 1, "T2")[measured.split]
        assert (curve.acc[-1], curve.acc_task[-1], curve.n[-1]) == (measured.acc, measured.acc_task, measured.n)


def test_measures_before_the_first_step_the_weights_as_they_are(build, benchmark, stream, tiny_net):
    plugin = ERIPlugin(("naive", 1, None), stream)
    train(build(Naive, plugin), benchmark)
    evaluator = Evaluator(stream, Presentation(stream), nullcontext)
    (fresh,) = evaluator.measure(tiny_net(), ["T1_all"])
    row = plugin.timeline().frame.query("phase == 'T1' and epoch == 0 and split == 'T1_all'").iloc[0]
    assert (row.acc, row.loss) == (fresh.acc, pytest.approx(fresh.loss, abs=1e-6))


def test_a_baseline_makes_the_score_complete(build, benchmark, stream, tmp_path, monkeypatch, capsys):
    for seed in (1, 2):
        train(build(STRATEGIES["replay"], ERIPlugin(("replay", seed, tmp_path), stream)), benchmark)
        torch.manual_seed(seed)
        timeline = scratch_t2(build(Naive, train_epochs=2), benchmark, stream, seed, tmp_path)
        assert timeline.phases("scratch_t2", seed) == ("T2",)
    card = score(Timeline.read_many([tmp_path]))
    assert card.baseline == "scratch_t2"
    assert set(card.methods) == {"replay", "scratch_t2"}
    assert {"PD", "SFR_rel"} <= set(type(card.methods["replay"]).model_fields)
    assert all(card.methods["replay"].facet(name).n == 2 for name in ("PD", "SFR_rel"))
    monkeypatch.setattr("sys.argv", ["einstellung", "score", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    assert "replay" in capsys.readouterr().out


def test_scratch_t2_refuses_a_strategy_that_has_learned_something(build, benchmark, stream):
    strategy = train(build(Naive), benchmark)
    with pytest.raises(InputError, match="fresh strategy"):
        scratch_t2(strategy, benchmark, stream, 1, None)


def test_joint_training_is_recorded_under_t2_and_counts_its_images_alone(build, benchmark, stream):
    plugin = ERIPlugin(("joint", 1, None), stream, phase="T2")
    build(JointTraining, plugin, train_epochs=2).train(benchmark.train_stream)
    assert plugin.timeline().phases("joint", 1) == ("T2",)
    assert plugin.timeline().curve("joint", 1, "T2", "T1_all")[0].tolist() == [0, 1, 2]


def test_every_other_epoch_and_the_end(build, benchmark, stream):
    plugin = ERIPlugin(Recorder("naive", 1), stream, every=2)
    train(build(Naive, plugin), benchmark, epochs=(1, 3))
    assert plugin.timeline().curve("naive", 1, "T1", "T2_val")[0].tolist() == [0, 1]
    assert plugin.timeline().curve("naive", 1, "T2", "T2_val")[0].tolist() == [0, 2, 3]


def test_batches_that_are_left_out_do_not_count(build, benchmark, stream):
    plugin = ERIPlugin(("naive", 1, None), stream)
    train(build(Naive, plugin), benchmark, drop_last=True)
    sizes = [len(phase.train) for phase in stream.phases]
    assert sizes[1] % 16
    expected = [epoch * (sizes[1] // 16 * 16) / sizes[1] for epoch in range(3)]
    assert plugin.timeline().curve("naive", 1, "T2", "T2_val")[0].tolist() == expected


def test_stopping_early_still_measures_the_end(build, benchmark, stream):
    class Stop(SupervisedPlugin):
        def after_training_iteration(self, strategy, **kwargs):
            if strategy.clock.train_exp_iterations == 1:
                strategy.stop_training()

    plugin = ERIPlugin(("naive", 1, None), stream, every=5)
    strategy = build(Naive, Stop(), plugin, train_epochs=3)
    strategy.train(benchmark.train_stream[0])
    assert plugin.timeline().curve("naive", 1, "T1", "T1_all")[0][-1] == 32 / len(stream.phase("T1").train)


def test_an_error_while_measuring_ends_the_training(build, benchmark, stream, monkeypatch):
    plugin = ERIPlugin(("naive", 1, None), stream)
    monkeypatch.setattr(Recorder, "evaluate", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(build(Naive, plugin), benchmark)


def test_avalanches_own_evaluation_may_run_too(build, benchmark, stream):
    plugin = ERIPlugin(("naive", 1, None), stream)
    strategy = build(Naive, plugin, eval_every=1, eval_mb_size=16)
    train(strategy, benchmark, eval_streams=[benchmark.test_stream])
    strategy.eval(benchmark.streams["T2_shortcut_masked"])
    assert plugin.timeline().curve("naive", 1, "T2", "T2_val")[0].tolist() == [0, 1, 2]


def test_is_a_plug_in_of_avalanches_own_kind(stream):
    assert isinstance(ERIPlugin(("naive", 1, None), stream), SupervisedPlugin)
    assert ERIPlugin.__name__ == "ERIPlugin"
