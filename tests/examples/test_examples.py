"""Every example is run as it stands, with small sizes, and must do what it is there to show."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from einstellung.cues import cues
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_learner, build_stream, resolve
from einstellung.experiments.study import Outcome, prepare_study, run_study
from einstellung.learners import Batch
from einstellung.results.config import build_config, merged, read_config
from einstellung.results.folder import ResultsFolder
from einstellung.streams import Presentation, prove, shapes
from einstellung.timeline import Timeline

pytestmark = pytest.mark.usefixtures("own_names")

EXAMPLES = Path(__file__).parents[2] / "examples"
TINY = {
    "stream": {"size": 12, "train_per_class": 8, "test_per_class": 2},
    "backbone": {"width": 8},
    "training": {"epochs": [1, 2], "batch_size": 8},
    "evaluation": {"first_phase": "own"},
    "seeds": [1],
}


@pytest.fixture(autouse=True)
def one_place(tmp_path, monkeypatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EINSTELLUNG_CACHE", str(tmp_path / "cache"))
    yield
    torch.set_num_threads(1)


def started(monkeypatch: pytest.MonkeyPatch, script: str, *words: object) -> int:
    """The exit code of a script, run as one types it, in this very process."""
    monkeypatch.setattr(sys, "argv", [script, *map(str, words)])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    return int(stopped.value.code or 0)


def tiny_study(name: str, out: Path, **changes: object) -> Outcome:
    return run(merged(merged(read_config(EXAMPLES / name), TINY), changes), out)


def run(values: dict[str, Any], out: Path) -> Outcome:
    prepared = prepare_study(build_config(values), out)
    with ResultsFolder(out).in_use():
        outcome = run_study(prepared, out, 1, "a test")
    assert not outcome.failures
    return outcome


def test_plain_loop(tmp_path, monkeypatch, capsys):
    text = (EXAMPLES / "plain_loop.py").read_text()
    assert [f"({number})" in text for number in range(1, 7)] == [True] * 5 + [False]  # the five lines, and no sixth
    assert started(monkeypatch, "plain_loop.py", "--folder", "logs", "--epochs", 2, "--per-class", 10) == 0
    shown = capsys.readouterr().out
    assert "fine-tuning, T2, epoch 2: T1_all" in shown
    assert "baseline" in shown
    timeline = Timeline.read_many([tmp_path / "logs"])
    assert timeline.phases("fine-tuning", 1) == ("T1", "T2")
    assert timeline.phases("scratch_t2", 1) == ("T2",)
    assert timeline.curve("fine-tuning", 1, "T2", "T2_shortcut_masked")[0].tolist() == [0, 1, 2]
    assert len(timeline.splits) == 8


def test_own_learner_is_one_short_file():
    assert len((EXAMPLES / "own_learner.py").read_text().splitlines()) <= 65


def test_own_learner_in_a_study_of_its_own_file(tmp_path):
    outcome = tiny_study("own_learner.yaml", tmp_path / "out", methods=["own_lwf"])
    assert outcome.timeline.runs == (("own_lwf", 1),)
    assert outcome.timeline.phases("own_lwf", 1) == ("T1", "T2")


@pytest.fixture
def lwf(tmp_path):
    """A learner of the example after T1 and a step of T2, how to make another one, and a batch of T2 for it."""
    config = resolve(build_config(merged(read_config(EXAMPLES / "own_learner.yaml"), TINY)))
    stream = build_stream(config)

    def make(method: str = "own_lwf", alpha: float = 2.0):
        return build_learner(config.model_copy(update={"learners": {"own_lwf": {"alpha": alpha}}}), method, 1, stream)

    def batch(phase, rows):
        raw = phase.train.take(torch.arange(*rows))
        return Batch(Presentation(stream).unaugmented(raw), raw.labels, raw)

    def through_t1(learner):
        for phase in stream.phases:
            learner.begin_phase(phase)
            learner.net.train()
            learner.observe(batch(phase, (0, 8)))
            if phase is stream.phases[0]:
                learner.end_phase(phase)
        return learner

    return make, through_t1, stream.phases[1], batch(stream.phases[1], (8, 16))


def test_own_learner_with_alpha_0_is_plain_fine_tuning_bit_for_bit(lwf):
    make, through_t1, _, _ = lwf
    plain, own, strong = through_t1(make("sgd")), through_t1(make(alpha=0.0)), through_t1(make(alpha=5.0))
    parameters = [list(learner.net.parameters()) for learner in (plain, own, strong)]
    assert all(torch.equal(one, other) for one, other in zip(parameters[0], parameters[1], strict=True))
    assert not all(torch.equal(one, other) for one, other in zip(parameters[0], parameters[2], strict=True))


def test_own_learners_loss_is_its_formula(lwf):
    make, through_t1, _, batch = lwf
    learner = through_t1(make(alpha=3.0))
    old, heat = list(range(24)), 2.0
    with torch.no_grad():
        f, g = learner.net(batch.inputs).double(), learner.before(batch.inputs).double()
        expected = torch.nn.functional.cross_entropy(f, batch.labels)
        p, q = (x[:, old].div(heat).softmax(dim=1) for x in (g, f))
        expected += 3.0 * heat**2 * (p * (p / q).log()).sum(dim=1).mean()
    assert float(learner.observe(batch)) == pytest.approx(float(expected), rel=1e-5)


def test_own_learner_goes_on_where_it_was_interrupted(lwf):
    make, through_t1, phase, batch = lwf
    assert make().state_dict() == {}
    learner, fresh = through_t1(make()), make()
    fresh.net.load_state_dict(learner.net.state_dict())
    fresh.load_state_dict(learner.state_dict())
    for one in (learner, fresh):
        one.begin_phase(phase)  # a new optimiser in both
        one.net.train()
    assert torch.equal(fresh.observe(batch), learner.observe(batch))
    for one, other in zip(fresh.net.parameters(), learner.net.parameters(), strict=True):
        assert torch.equal(one, other)


def test_the_example_of_attention_can_start():
    prepared = prepare_study(build_config(read_config(EXAMPLES / "vit_attention.yaml")))
    prepared.proof.require()
    assert prepared.config.attention.epochs == (2, 4, 8, 12)


def test_own_cue_and_own_model():
    prepared = prepare_study(build_config(merged(read_config(EXAMPLES / "own_cue_and_model.yaml"), TINY)))
    prepared.proof.require()
    assert (prepared.config.cue.name, prepared.config.backbone.name) == ("stripe", "small_cnn")
    learner = build_learner(prepared.config, "sgd", 1, prepared.stream)
    for phase in prepared.stream.phases:
        learner.begin_phase(phase)
        some = phase.train.take(torch.arange(8))
        batch = Batch(learner.context.presentation.unaugmented(some), some.labels, some)
        assert torch.isfinite(learner.observe(batch))
    stripe = cues["stripe"](width=3, side="right", share=0.5)
    prove(shapes(stripe, "blur", size=16, train_per_class=10, test_per_class=2)).require()
    painted = stripe.paint(torch.zeros(1, 3, 4, 8, dtype=torch.uint8), torch.tensor([0]))
    assert painted[0, 1].tolist() == [[0] * 5 + [255] * 3] * 4
    with pytest.raises(InputError, match=r"cue\.width is 9: give 1 to 8"):
        cues["stripe"](width=9).region(torch.tensor([0]), 16, 16)


def test_own_images_with_a_planted_cue(monkeypatch, capsys):
    assert started(monkeypatch, "own_images/make_and_run.py", "--per-class", 8, "--validate") == 0
    shown = capsys.readouterr().out
    assert "on 8 of 8 training images of the cue classes, on 0 of 16 others" in shown
    assert "T2_group_night" in shown


def test_own_images_with_a_watermark(tmp_path, monkeypatch, capsys):
    words = ("--folder", "pictures", "--per-class", 8, "--epochs", 1, "--watermark", "--validate")
    assert started(monkeypatch, "own_images/make_and_run.py", *words) == 0
    assert "boxes for 8 of 8 training images of the cue classes, for 0 of 16 others" in capsys.readouterr().out
    values = merged(read_config(Path("pictures/study.yaml")), {"methods": ["scratch_t2"], "seeds": [1]})
    splits = run(merged(values, {"stream": {"size": 12}}), tmp_path / "out").timeline.splits
    assert {"T1_val", "T2_group_day", "T2_group_night", "T2_shortcut_masked"} <= set(splits)
    assert "T2_shortcut_clean" not in splits
