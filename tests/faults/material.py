"""Sound files that the campaign damages, or gives beside one bad input: a study, logs, predictions, pictures, a net."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

SMALL = {
    "name": "small",
    "stream": {"name": "shapes", "size": 12, "train_per_class": 8, "test_per_class": 2},
    "backbone": {"name": "resnet18", "width": 4},
    "training": {"epochs": [1, 2], "batch_size": 8, "precision": "fp32", "threads": 1},
    "evaluation": {"first_phase": "own"},
    "methods": ["scratch_t2", "sgd", "ewc_on"],
    "learners": {"ewc_on": {"e_lambda": 1.0, "fisher_images": 20}},
    "seeds": [1, 2],
}
MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 10)
    def forward(self, images):
        return self.head(images.mean(dim=(2, 3)))

def net():
    torch.manual_seed(0)
    return Net(), {"size": 32, "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}
"""
TIMELINE_HEAD = "method,seed,phase,epoch,split,acc"


def timeline() -> str:
    rows = [TIMELINE_HEAD]
    for method, lead in (("scratch_t2", 0), ("sgd", 2)):
        for seed in (1, 2, 3):
            for epoch in range(1, 9):
                acc = min(0.1 * (epoch + lead) + 0.002 * seed, 0.95)
                for split, value in {
                    "T1_all": 0.0,
                    "T2_shortcut_normal": acc,
                    "T2_shortcut_masked": acc * (0.7 if lead == 0 else 0.3),
                    "T2_nonshortcut_normal": 0.5,
                }.items():
                    rows.append(f"{method},{seed},T2,{epoch},{split},{value:.6f}")
    return "\n".join(rows) + "\n"


def predictions(shift: int) -> str:
    rows = ["id,label,prediction,condition"]
    for number in range(40):
        label = ("cat", "dog")[number % 2]
        for condition in ("cue", "covered"):
            wrong = (number + shift * (condition == "covered")) % 5 == 0
            rows.append(f"x{number},{label},{'fox' if wrong else label},{condition}")
    return "\n".join(rows) + "\n"


@dataclass(frozen=True)
class Material:
    """The folder with all of it; made once, and never changed."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "small.yaml"

    @property
    def log(self) -> Path:
        return self.root / "timeline.csv"

    @property
    def pictures(self) -> Path:
        return self.root / "pictures"

    @property
    def model(self) -> Path:
        return self.root / "mine.py"

    def predictions(self, name: str) -> Path:
        return self.root / f"{name}.csv"

    @cached_property
    def study(self) -> Path:
        """A finished study of six runs."""
        out = self.root / "study"
        if not (out / "report.html").exists():
            shutil.rmtree(out, ignore_errors=True)
            command = [
                sys.executable,
                "-m",
                "einstellung",
                "run",
                str(self.config),
                "--out",
                str(out),
                "--workers",
                "1",
            ]
            subprocess.run(command, check=True, capture_output=True)
        return out


def make_material(root: Path) -> Material:
    """Write the files; the study is run when it is first asked for."""
    root.mkdir(parents=True, exist_ok=True)
    made = Material(root)
    made.config.write_text(yaml.safe_dump(SMALL))
    made.log.write_text(timeline())
    made.model.write_text(MODEL)
    for name, shift in (("before", 0), ("after", 1)):
        made.predictions(name).write_text(predictions(shift))
    made.pictures.mkdir(exist_ok=True)
    random = np.random.default_rng(0)
    for number in range(4):
        pixels = random.integers(0, 256, (32, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(made.pictures / f"{number}_class{number}.png")
    return made
