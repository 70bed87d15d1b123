"""Which epoch's net is kept: the one whose worst group is best where a stream has groups, validation's best elsewhere."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from einstellung.backbones import backbones
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.execution import JobExecution
from einstellung.experiments.plan import plan
from einstellung.learners import Batch, Learner, learners
from einstellung.results.config import build_config
from einstellung.streams import EvaluationSplit, ImageSet, Phase, Stream, streams
from einstellung.training.checkpoint import load_state

# after each epoch, from which number on an image is taken for class 1: 4 images of class 1 a group, numbered 1 to 4 and 5 to 8
THRESHOLDS = (4.5, 2.5, 6.5)  # right: group a 0, b 4 of 4; a 2, b 4; a 0, b 2


class Threshold(nn.Module):
    """Class 1 where the only pixel is above a number."""

    def __init__(self, n_outputs: int) -> None:
        super().__init__()
        self.number = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        above = x.flatten(1)[:, :1] - self.number
        return torch.cat((-above, above), dim=1)


def rows_of(first: int) -> ImageSet:
    numbers = torch.arange(first, first + 4)
    return ImageSet.without_cue(numbers.view(-1, 1, 1, 1).float(), torch.ones(4, dtype=torch.long), numbers)


@pytest.fixture
def run(own_names, tmp_path):
    @learners.register("scripted")
    class Scripted(Learner):
        """Takes the thresholds one after the other."""

        def begin_epoch(self, phase: Phase, epoch: int) -> None:
            self._next = THRESHOLDS[epoch - 1]

        def observe(self, batch: Batch) -> Tensor:
            with torch.no_grad():
                self.net.number.fill_(self._next)
            return torch.zeros(())

    backbones.add("threshold", Threshold)

    def build(selected_by: tuple[str, ...], **evaluation: object) -> tuple[dict, pd.DataFrame, float]:
        name = "by-" + "-".join(selected_by)
        groups = {"val_1_a": rows_of(1), "val_1_b": rows_of(5)}
        whole = ImageSet.joined([groups["val_1_b"], groups["val_1_b"], groups["val_1_a"]])  # mostly the easy group

        @streams.register(name)
        def numbers() -> Stream:
            phase = Phase("T1", (0, 1), (), rows_of(1))
            splits = [EvaluationSplit(name, "T1", images, always=True) for name, images in groups.items()]
            splits.append(EvaluationSplit("T1_val", "T1", whole, always=True))
            return Stream(
                "numbers", (phase,), tuple(splits), (), None, None, 2, ("no", "yes"), (0.0,), (1 / 255,),
                crop_padding=0, flip=False, selected_by=selected_by,
            )  # fmt: skip

        config = resolve(
            build_config(
                {
                    "stream": {"name": name},
                    "backbone": {"name": "threshold"},
                    "training": {"epochs": [len(THRESHOLDS)], "milestones": [], "precision": "fp32"},
                    "evaluation": evaluation,
                    "methods": ["scripted"],
                    "seeds": [1],
                }
            )
        )
        stream = build_stream(config)
        (job,) = plan(config, stream)
        JobExecution(job, config, tmp_path, stream, lambda work, where: None).run()
        status = json.loads((tmp_path / job.folder / "status.json").read_text())
        kept = float(load_state(tmp_path / job.folder / "model.safetensors")["number"])
        return status, pd.read_csv(tmp_path / job.folder / "timeline.csv"), kept

    return build


def test_the_worst_group_decides_where_there_are_groups(run):
    """Worst groups 0, 2/4 and 0 of the three epochs: the second one counts, and its weights are kept."""
    status, frame, kept = run(("val_1_a", "val_1_b"))
    found = frame[frame.epoch > 0].pivot_table(index="epoch", columns="split", values="acc")
    assert found["val_1_a"].tolist() == [0.0, 0.5, 0.0]
    assert found["val_1_b"].tolist() == [1.0, 1.0, 0.5]
    assert (status["chosen_epoch"], kept) == (2.0, 2.5)


def test_a_single_group_may_decide_otherwise(run):
    """By the easy group alone, the first epoch is as good as the second, and comes first."""
    status, _, kept = run(("val_1_b",))
    assert (status["chosen_epoch"], kept) == (1.0, 4.5)


def test_groups_are_watched_where_all_else_waits_for_the_end(run):
    """``subsets: end`` leaves what decides, and the rest is measured for the chosen epoch and the last."""
    status, frame, kept = run(("val_1_a", "val_1_b"), subsets="end")
    assert (status["chosen_epoch"], kept) == (2.0, 2.5)
    assert sorted(frame[frame.split == "val_1_a"].epoch) == [0.0, 1.0, 2.0, 3.0]
