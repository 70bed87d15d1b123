"""Where each method runs: every learner takes a step in every phase of every stream, and the table in the docs says so.

``python -m tests.learners.where`` writes the table into docs/learners.md; a test compares it.
"""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from einstellung.backbones import backbones
from einstellung.errors import InputError
from einstellung.experiments.assembly import build_stream, resolve
from einstellung.experiments.rehearsal import rehearse
from einstellung.learners import learners
from einstellung.results.config import build_config
from tests.learners.conftest import SmallNet

PAGE = Path(__file__).parents[2] / "docs/learners.md"
BEGIN, END = "<!-- where each method runs -->\n", "<!-- end -->\n"
TRANSFORMERS = ("l2p", "coda_prompt")
SEQUENCES: dict[str, dict[str, Any]] = {
    "phrases": {"name": "embedding_bag", "vocabulary": 300, "dim": 8, "hidden": 8},
    "waves": {"name": "resnet1d", "width": 8},
}
OPTIONS: dict[str, dict[str, Any]] = {  # none that changes where a method runs
    "dgr": {"generator_epochs": 1},
    "gpm": {"samples": 4},
    "eiil": {"ascent_steps": 5},
    "coda_prompt": {"pool": 9, "layers": 1},
}


REASONS = {  # words of a refusal, and the note that stands for them
    "changes pixels": "changes pixels, and this stream shows attributes",
    "change an image's background": "needs images whose background can be changed",
    "the target's place": "needs the place of the object in every image",
    "needs stylised copies": "needs stylised copies of the images (`learners.txt_aug.folder`)",
    "a cue can be swapped": "needs images in which a cue can be swapped",
    "phases of this stream share classes": "needs phases with classes of their own",
    "hidden units": "needs hidden units with one layer after them; `set_transformer` has none",
    "for a vision transformer": "needs a vision transformer",
    "too small for a generator": "needs pictures",
    "learns from images only": "changes or makes images",
    "learns from images and series only": "mixes inputs, and there is no mean of two words",
}
NO_FONT = "no font with them was found"  # of this machine, not of the stream


def picture_folder(path: Path) -> None:
    """Two phases of two classes each as PNG files, with their table."""
    draws, rows = np.random.default_rng(0), []
    for label in range(4):
        for split, count in (("train", 12), ("test", 4)):
            for number in range(count):
                name = f"{split}-{label}-{number}.png"
                Image.fromarray(draws.integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(path / name)
                rows.append((name, f"class {label}", f"T{1 + label // 2}", split))
    with (path / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("file", "label", "phase", "split"), *rows])


def columns(folder: Path) -> dict[str, dict[str, Any]]:
    """The streams of the table, each as small as it can be, with the side of its pictures."""
    picture_folder(folder)
    concon = {"train": 8, "val": 4, "test": 6, "size": 32}
    return {
        "shapes": {"name": "shapes", "size": 16, "train_per_class": 4, "test_per_class": 2},
        "cifar100": {"name": "cifar100"},
        "folder": {"name": "folder", "path": str(folder), "size": 16, "shortcut": ["class 2"]},
        "concon": {"name": "concon", **concon},
        "composites": {
            "name": "composites",
            "size": 32,
            "train": 12,
            "val": 4,
            "test": 4,
            "phases": [[0.75, 0.5], [0.5, 0.75]],
        },
        "phrases": {"name": "phrases", "train_per_class": 4, "test_per_class": 2, "validation": 0.25},
        "waves": {"name": "waves", "train_per_class": 4, "test_per_class": 2, "validation": 0.25},
        "concon, attributes": {"name": "concon", "input_modality": "attributes", "train": 16, "val": 4, "test": 8},
    }


def config_of(stream: Mapping[str, Any], method: str, phases: int) -> Any:
    if stream.get("input_modality") == "attributes":
        backbone: dict[str, Any] = {"name": "set_transformer", "dim": 16}
    elif stream["name"] in SEQUENCES:
        backbone = SEQUENCES[stream["name"]]
    elif method in TRANSFORMERS:
        backbone = {"name": "vit", "dim": 12, "depth": 1, "heads": 2, "patch": 8, "image": stream.get("size", 32)}
    else:
        backbone = {"name": "small"}
    values = {
        "stream": dict(stream),
        "backbone": backbone,
        "methods": [method],
        "learners": {method: OPTIONS.get(method, {})},
        "training": {"epochs": [1] * phases, "batch_size": 4, "precision": "fp32", "milestones": []},
    }
    return resolve(build_config(values))


def reasons(stream: Mapping[str, Any]) -> dict[str, str | None]:
    """Of every learner, the note on why it does not run on the stream; None if it does."""
    phases = 3 if stream["name"] == "concon" else 2
    built = build_stream(config_of(stream, "sgd", phases))
    found: dict[str, str | None] = {}
    for method in learners:
        found[method] = None
        try:
            rehearse(config_of(stream, method, phases), built)
        except InputError as error:
            if NO_FONT not in str(error):
                found[method] = next(note for words, note in REASONS.items() if words in str(error))
    return found


def table(found: Mapping[str, Mapping[str, str | None]]) -> str:
    """The table, from the reasons of every stream."""
    notes = [note for note in REASONS.values() if any(note in one.values() for one in found.values())]
    lines = [f"| method | {' | '.join(found)} |", "| --- |" + " --- |" * len(found)]
    for method in learners:
        cells = [one[method] for one in found.values()]
        words = ["yes" if note is None else f"no ({notes.index(note) + 1})" for note in cells]
        lines.append(f"| `{method}` | {' | '.join(words)} |")
    return "\n".join([*lines, "", *(f"{number}. {note}" for number, note in enumerate(notes, start=1)), ""])


def shown() -> str:
    """The table that the page has."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def cells(text: str) -> Iterator[tuple[str, str, str | None]]:
    """Method, stream and note of every cell of a table."""
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    notes = dict(re.findall(r"^(\d+)\. (.*)$", text, flags=re.MULTILINE))
    for method, *words in rows[2:]:
        for stream, word in zip(rows[0][1:], words, strict=True):
            number = re.fullmatch(r"no \((\d+)\)", word)
            yield method, stream, notes[number[1]] if number else None


if __name__ == "__main__":
    backbones.add("small", SmallNet)
    with tempfile.TemporaryDirectory() as folder:
        found = {name: reasons(stream) for name, stream in columns(Path(folder)).items()}
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(before + BEGIN + table(found) + END + rest.partition(END)[2], encoding="utf-8")
