"""Attention files written by hand: a model that looks at the cue's corner more and more, so that every number is known."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd

GRID, LAYERS, HEADS, SIDE, CUE = 8, 2, 2, 32, 4
#: How many times the attention of any other token the cue's token gets when the cue is there, at the end of T2.
PULLS = {"scratch_t2": 6.0, "sgd": 20.0, "derpp": 2.0}
SPLITS = ("T1_all", "T2_shortcut_clean", "T2_shortcut_normal", "T2_shortcut_masked", "T2_nonshortcut_normal")
EXAMPLES = ("T2_shortcut_clean", "T2_shortcut_normal", "T2_shortcut_masked")
EPOCHS = (1.0, 4.0, 8.0)


def region() -> np.ndarray:
    """The cue covers exactly the token at the top left."""
    place = np.zeros((SIDE, SIDE), dtype=bool)
    place[:CUE, :CUE] = True
    return place


def weight(method: str, phase: str, epoch: float, split: str, seed: int) -> float:
    """What the cue's token weighs against 1 for each of the 63 others."""
    if phase == "T1" or split not in ("T2_shortcut_normal", "T2_shortcut_masked"):
        return 1.0 + 0.1 * (seed % 3)
    grown = 1 + (PULLS[method] - 1) * epoch / EPOCHS[-1]
    return (grown if split == "T2_shortcut_normal" else grown**0.25) + 0.1 * (seed % 3)


def corner_map(corner: float) -> np.ndarray:
    """A map that is even but for its first token; sums to 1."""
    attention = np.ones((GRID, GRID))
    attention[0, 0] = corner
    return attention / attention.sum()


def share(corner: float) -> float:
    return corner / (corner + GRID * GRID - 1)


def moments(method: str) -> list[tuple[str, float]]:
    return [("T1", 8.0)] * (method != "scratch_t2") + [("T2", epoch) for epoch in EPOCHS]


def attention_files(
    method: str, seed: int, splits: tuple[str, ...] = SPLITS
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """The rows of ``attention.csv`` and the arrays of ``attention.npz``; head h of layer l pulls l * h times as much."""
    rows, arrays = [], {}
    for (phase, epoch), split in itertools.product(moments(method), splits):
        own = weight(method, phase, epoch, split, seed)
        heads = np.array(
            [[corner_map(own * layer * head) for head in range(1, HEADS + 1)] for layer in range(1, LAYERS + 1)]
        )
        rolled = corner_map(own)
        key = f"{phase}/{epoch:g}/{split}"
        arrays |= {f"mean_heads/{key}": heads.astype(np.float32), f"mean_rollout/{key}": rolled.astype(np.float32)}
        named = {(layer + 1, head + 1): heads[layer, head] for layer in range(LAYERS) for head in range(HEADS)}
        named |= {(layer + 1, "mean"): heads[layer].mean(axis=0) for layer in range(LAYERS)} | {("rollout", ""): rolled}
        for (layer, head), attention in named.items():
            boxed = split.startswith("T2_shortcut")
            spread = float(-(attention * np.log(attention)).sum())
            reading = (float(attention[0, 0]) if boxed else -spread, int(boxed), spread, 0.01 * seed)
            rows.append((phase, epoch, split, 50, layer, head, *reading))
        if split in EXAMPLES:
            arrays[f"example_rollout/{key}"] = np.stack([wavy_map(own, example) for example in range(4)])
    arrays |= {f"example_images/{split}": example_images(split) for split in EXAMPLES if split in splits}
    arrays["example_regions"] = np.stack([region()] * 4)
    columns = ["phase", "epoch", "split", "n", "layer", "head", "AS", "boxed", "entropy", "ADI"]
    return pd.DataFrame(rows, columns=columns), arrays


def wavy_map(corner: float, example: int) -> np.ndarray:
    """A map of one image: a blob where its thing is, beside the cue's corner."""
    y, x = np.mgrid[:GRID, :GRID]
    attention = 0.4 + 2 * np.exp(-((y - 3 - example % 3) ** 2 + (x - 4 + example % 2) ** 2) / 3)
    attention[0, 0] = corner
    return (attention / attention.sum()).astype(np.float32)


def example_images(split: str) -> np.ndarray:
    """Four images with a disc; magenta or black in the corner where the cue was put or covered."""
    y, x = np.mgrid[:SIDE, :SIDE]
    images = np.zeros((4, SIDE, SIDE, 3), dtype=np.uint8)
    for example, image in enumerate(images):
        image[:] = (90 + 20 * example, 140, 170 - 20 * example)
        disc = (y - 14 - 4 * (example % 3)) ** 2 + (x - 18 + 4 * (example % 2)) ** 2 < 60
        image[disc] = (220, 180 - 40 * example, 60)
        if split != "T2_shortcut_clean":
            image[:CUE, :CUE] = (255, 0, 255) if split == "T2_shortcut_normal" else 0
    return images


def write_attention(run: Path, method: str, seed: int, splits: tuple[str, ...] = SPLITS) -> None:
    rows, arrays = attention_files(method, seed, splits)
    run.mkdir(parents=True, exist_ok=True)
    rows.to_csv(run / "attention.csv", index=False)
    np.savez_compressed(run / "attention.npz", **arrays)
