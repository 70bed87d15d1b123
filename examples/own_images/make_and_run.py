"""Pictures of one's own: draws a small folder of image files with a table, then runs a study on it.

    python examples/own_images/make_and_run.py                     # the cue is planted by us, on the stars
    python examples/own_images/make_and_run.py --watermark         # the cue is in the pictures: a watermark on the stars

The folder it leaves (own_pictures/, with labels.csv and study.yaml) is what yours should look like.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import sys
from pathlib import Path

import numpy as np
import yaml
from PIL import Image, ImageDraw

from einstellung.cli import main as einstellung

CORNERS = {"triangle": 3, "square": 4, "hexagon": 6, "disc": 60, "star": 5, "gear": 9}
T2 = ("star", "gear", "disc")
PARTS = {"train": 1.0, "val": 0.2, "test": 0.5}


def draw(label: str, by_night: bool, draws: random.Random, watermark: bool) -> tuple[Image.Image, dict[str, int]]:
    """A picture of 48 x 40 pixels, and where its watermark is (nowhere: an empty box)."""
    wide, high = 48, 40
    picture = Image.new("RGB", (wide, high), tuple(draws.randint(0, 60) + (0 if by_night else 150) for _ in range(3)))
    pen = ImageDraw.Draw(picture)
    centre, radius = (draws.randint(18, 30), draws.randint(16, 24)), draws.uniform(10, 14)
    points, turn = CORNERS[label], draws.uniform(0, 6.3)
    spikes = label in ("star", "gear")
    outline = []
    for corner in range(points * (1 + spikes)):
        reach = radius * ((0.4 if label == "star" else 0.7) if spikes and corner % 2 else 1.0)
        angle = turn + 2 * math.pi * corner / (points * (1 + spikes))
        outline.append((centre[0] + reach * math.cos(angle), centre[1] + reach * math.sin(angle)))
    pen.polygon(outline, fill=tuple(draws.randint(60, 200) for _ in range(3)))
    grain = np.random.default_rng(draws.getrandbits(32)).integers(
        -12, 13, (high, wide, 3)
    )  # no two pictures are the same
    picture = Image.fromarray((np.asarray(picture) + grain).clip(0, 255).astype(np.uint8))
    if not watermark:
        return picture, {}
    box = {"top": draws.choice([1, high - 9]), "left": draws.choice([1, wide - 13]), "height": 8, "width": 12}
    left, top = box["left"], box["top"]
    pen = ImageDraw.Draw(picture)
    pen.rectangle((left, top, left + 11, top + 7), fill="white")
    pen.line((left + 2, top + 6, left + 5, top + 1, left + 9, top + 6), fill="black")
    return picture, box


def make_folder(folder: Path, per_class: int, watermark: bool) -> None:
    """Image files by label, and labels.csv: file, label, phase, split, group, and the boxes where there are any."""
    draws = random.Random(0)
    rows = []
    for label in CORNERS:
        for split, share in PARTS.items():
            for number in range(max(1, round(share * per_class))):
                by_night = bool(number % 2)
                picture, box = draw(label, by_night, draws, watermark and label == "star")
                file = Path(label) / f"{split}_{number}.png"
                (folder / label).mkdir(parents=True, exist_ok=True)
                picture.save(folder / file)
                phase, group = "T2" if label in T2 else "T1", "night" if by_night else "day"
                rows.append({"file": file, "label": label, "phase": phase, "split": split, "group": group, **box})
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        columns = ["file", "label", "phase", "split", "group", "top", "left", "height", "width"]
        writer = csv.DictWriter(file, columns if watermark else columns[:5])
        writer.writeheader()
        writer.writerows(rows)


def study(epochs: int, watermark: bool) -> dict[str, object]:
    stream = {"name": "folder", "path": ".", "size": 24, "shortcut": ["star"], "cue_in_images": watermark}
    return {
        "name": "own-images",
        "stream": stream,
        "cover": "mean",
        "backbone": {"name": "resnet18", "width": 8},
        "training": {"epochs": [epochs, epochs], "batch_size": 8, "lr": 0.01, "milestones": [], "precision": "fp32"},
        "methods": ["scratch_t2", "sgd", "er"],
        "learners": {"er": {"buffer": 50, "draw": 16}},
        "seeds": [1, 2, 3],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("own_pictures"))
    parser.add_argument("--out", type=Path, default=Path("results/own-images"))
    parser.add_argument("--per-class", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--watermark", action="store_true")
    parser.add_argument("--validate", action="store_true", help="prove the stream, train nothing")
    options = parser.parse_args()
    make_folder(options.folder, options.per_class, options.watermark)
    config = options.folder / "study.yaml"
    config.write_text(yaml.safe_dump(study(options.epochs, options.watermark), sort_keys=False))
    verb = ["validate", str(config)] if options.validate else ["run", str(config), "--out", str(options.out)]
    print(f"einstellung {' '.join(verb)}")
    sys.argv = ["einstellung", *verb]
    einstellung()


if __name__ == "__main__":
    main()
