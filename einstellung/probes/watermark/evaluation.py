r"""How much a classifier relies on the watermark, and what else would explain the figures.

- IN-W Gap = acc(watermarked) - acc(clean), over all images
- Carton Gap = the same over the images of the class asked about (478, carton, in the published question)
- dP(carton) = mean P(carton) watermarked - mean P(carton) clean, over all images and over that class's own
- the class whose mean probability rises most of all classes
- for every control: accuracy, gap and dP(carton), and what the watermark does beyond it (watermarked - control, paired)

All are fractions. Intervals: :mod:`einstellung.probes.watermark.intervals`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.classifiers import Classifier
from einstellung.classifiers.labelled import Labelled
from einstellung.errors import InputError
from einstellung.probes.watermark.asking import CLEAN, Answers, Heard, ask
from einstellung.probes.watermark.conditions import CONTROLS, WATERMARK, controls, watermark
from einstellung.probes.watermark.intervals import LEVEL, RESAMPLES, SEED, intervals, resampled

CARTON = 478
_RISING = 5  # classes that are told

Values = npt.NDArray[np.float64]


def evaluate(
    classifier: Classifier,
    images: Labelled,
    index: int = CARTON,
    control_names: Sequence[str] = tuple(CONTROLS),
    *,
    seed: int = 0,
    heard: Heard | None = None,
) -> dict[str, Any]:
    """The whole record as plain values; ``index``: the class asked about."""
    if not 0 <= index < classifier.classes:
        raise InputError(f"there is no class {index}: {classifier.name} has {classifier.classes}, from 0")
    images.check(classifier.classes, classifier.name)
    compared = controls(control_names, classifier.size, seed)
    answers, gains = ask(classifier, images, [watermark(classifier.size), *compared], index, heard)
    facts = {
        "model": classifier.name,
        "digest": classifier.digest,
        "size": classifier.size,
        "class": {"index": index, "name": images.names.get(index)},
        "images": images.facts(),
        "seed": seed,
    }
    words = {condition.name: condition.what for condition in compared}
    return facts | _record(answers, images, index, words) | rising(gains, index, images.names)


def _record(answers: dict[str, Answers], images: Labelled, index: int, controls: dict[str, str]) -> dict[str, Any]:
    """The figures behind the answers; ``controls``: what each one is, by its name."""
    clean, marked = answers[CLEAN], answers[WATERMARK]
    columns = {
        "clean_acc": clean.correct,
        "watermark_acc": marked.correct,
        "gap": marked.correct - clean.correct,
        "p_carton_clean": clean.p_class,
        "p_carton_watermark": marked.p_class,
        "dp_carton": marked.p_class - clean.p_class,
    }
    return {
        "n": len(images),
        **_means(columns),
        "intervals": intervals(columns),
        **_of_the_class(clean, marked, images.labels == index),
        "controls": {name: {"what": what, **_control(answers, name)} for name, what in controls.items()},
        "bootstrap": {"resamples": RESAMPLES, "seed": SEED, "level": LEVEL, "over": "images"},
    }


def rising(gains: npt.NDArray[np.float32], index: int, names: Mapping[int, str]) -> dict[str, Any]:
    """The classes whose mean probability rises most, and the place of the class asked about among all.

    ``first_in``: the share of resamples of the images in which that class, of those that rise most, rises most of all.
    """
    rise = gains.mean(0, dtype=np.float64)
    top = np.argsort(-rise, kind="stable")[:_RISING].tolist()
    columns = {str(number): gains[:, number] for number in top}
    bounds, means = intervals(columns), resampled(columns)
    first = None if means is None else np.bincount(means.argmax(1), minlength=len(top)) / len(means)
    classes = [
        {
            "index": number,
            "name": names.get(number),
            "rise": float(rise[number]),
            "interval": bounds[str(number)],
            "first_in": None if first is None else float(first[place]),
        }
        for place, number in enumerate(top)
    ]
    rank = int((rise > rise[index]).sum()) + 1
    return {"top_rising_class": classes[0], "rising_classes": classes, "carton_rise_rank": rank}


def _of_the_class(clean: Answers, marked: Answers, members: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Over the images of the class asked about; null where there are none."""
    count = int(members.sum())
    columns = {
        "carton_gap": (marked.correct - clean.correct)[members],
        "dp_carton_on_carton": (marked.p_class - clean.p_class)[members],
    }
    if count == 0:
        return {"n_carton": 0, **dict.fromkeys(columns), "carton_intervals": dict.fromkeys(columns)}
    return {"n_carton": count, **_means(columns), "carton_intervals": intervals(columns)}


def _control(answers: dict[str, Answers], name: str) -> dict[str, Any]:
    clean, marked, own = answers[CLEAN], answers[WATERMARK], answers[name]
    columns = {
        "acc": own.correct,
        "gap": own.correct - clean.correct,
        "p_carton": own.p_class,
        "dp_carton": own.p_class - clean.p_class,
        "gap_beyond": marked.correct - own.correct,
        "dp_carton_beyond": marked.p_class - own.p_class,
    }
    return {**_means(columns), "intervals": intervals(columns)}


def _means(columns: dict[str, Values]) -> dict[str, float]:
    return {name: float(values.mean()) for name, values in columns.items()}
