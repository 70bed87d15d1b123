"""docs/python.md: every code block, run in its order in one session."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import nn

import einstellung as e
from einstellung.api import studies
from einstellung.results.config import StudyConfig, build_config
from tests.api.test_scoring import write_study

PAGE = (Path(__file__).parents[2] / "docs/python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def timeline() -> pd.DataFrame:
    splits = {"T2_shortcut_normal": 0.9, "T2_shortcut_masked": 0.4, "T2_nonshortcut_normal": 0.8}
    rows = [
        (method, seed, "T2", epoch, split, acc * epoch / 5, 0.1, 50)
        for method in ("scratch_t2", "sgd")
        for seed in range(6)
        for epoch in range(6)
        for split, acc in splits.items()
    ]
    return pd.DataFrame(rows, columns=["method", "seed", "phase", "epoch", "split", "acc", "loss", "n"])


@pytest.fixture
def started(monkeypatch) -> list[StudyConfig]:
    """Configurations that would be trained: training is tested elsewhere."""
    found: list[StudyConfig] = []

    def note(config, root, workers, on_progress):
        found.append(build_config(config.model_dump(mode="json")))
        return e.score(timeline())

    monkeypatch.setattr(studies, "_run_study", note)
    return found


def test_the_page_runs(tmp_path, monkeypatch, started):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_logs").mkdir()
    timeline().to_csv(tmp_path / "my_logs/timeline.csv", index=False)
    write_study(tmp_path / "results/mine", timeline())
    draws = torch.Generator().manual_seed(0)
    parts = {
        part: torch.randint(0, 256, (4 * count, 3, 12, 12), dtype=torch.uint8, generator=draws)
        for part, count in (("train", 20), ("test", 8))
    }
    space = {f"x_{part}": images for part, images in parts.items()}
    space |= {f"y_{part}": torch.arange(4).repeat_interleave(len(images) // 4) for part, images in parts.items()}
    draws = torch.Generator().manual_seed(1)
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    for part in ("train", "test"):
        count = len(space[f"y_{part}"])
        space[f"waves_{part}"] = torch.randn(count, 24, generator=draws)
        rows = torch.randint(len(words), (count, 12), generator=draws).tolist()
        space[f"texts_{part}"] = [" ".join(words[number] for number in row) for row in rows]
    space |= {"model": nn.Sequential(nn.Flatten(), nn.Linear(432, 4)), "train_step": lambda model, inputs, labels: None}
    for block in BLOCKS:
        exec(compile(block, "docs/python.md", "exec"), space)
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "my_report/score.json").exists()
    assert len(e.load(tmp_path / "more_logs").timeline["epoch"].unique()) == 3
    half, mine, texts = started
    assert (half.name, half.seeds, half.cue.options["share"]) == ("half", (1, 2), 0.5)
    assert half.stream.name == "shapes"
    assert (mine.stream.name, mine.methods) == ("arrays", ("scratch_t2", "derpp"))
    assert (texts.stream.name, texts.cue.name, texts.cover) == ("text_arrays", "tokens", "remove")
    assert space["ecg"].covered.tensors()[0].shape == (8, 1, 24)
    assert space["inputs"].shape == (8, 16 + 2 * 8)
    assert space["inputs"].dtype == torch.long
