r"""How much a classifier relies on the watermark, compared with controls.

- IN-W Gap = acc(watermarked) - acc(clean), over all images
- Carton Gap = the same over the images of the class of interest (478, carton, in ImageNet-W)
- dP(carton) = mean P(carton) watermarked - mean P(carton) clean, over all images and over that class's images
- the class whose mean probability rises most
- for every control: accuracy, gap and dP(carton), and the watermark's effect beyond it (watermarked - control, paired)

All values are fractions. Intervals: :mod:`einstellung.probes.watermark.intervals`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from einstellung.classifiers import Classifier
from einstellung.classifiers.labelled import LabelledFiles
from einstellung.errors import InputError
from einstellung.probes.watermark.conditions import CONTROLS, WATERMARK, controls, watermark
from einstellung.probes.watermark.intervals import LEVEL, RESAMPLES, SEED, intervals, resampled
from einstellung.probes.watermark.predictions import CLEAN, OnProgress, Predictions, predict

CARTON = 478
_RISING = 5  # classes that are listed
_AVERAGED = (
    "clean_acc",
    "watermark_acc",
    "gap",
    "carton_gap",
    "p_carton_clean",
    "p_carton_watermark",
    "dp_carton",
    "dp_carton_on_carton",
)
_AVERAGED_OF_CONTROLS = ("acc", "gap", "p_carton", "dp_carton", "gap_beyond", "dp_carton_beyond")

Values = npt.NDArray[np.float64]


def evaluate(
    classifier: Classifier,
    images: LabelledFiles,
    index: int = CARTON,
    control_names: Sequence[str] = tuple(CONTROLS),
    *,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """The record of a classifier as plain values; ``index``: the class of interest."""
    if not 0 <= index < classifier.classes:
        raise InputError(f"there is no class {index}: {classifier.name} has {classifier.classes}, from 0")
    images.check(classifier.classes, classifier.name)
    compared = controls(control_names, classifier.size, seed)
    predictions, gains = predict(classifier, images, [watermark(classifier.size), *compared], index, on_progress)
    facts = {
        "model": classifier.name,
        "digest": classifier.digest,
        "size": classifier.size,
        "class": {"index": index, "name": images.names.get(index)},
        "images": images.facts(),
        "seed": seed,
    }
    descriptions = {condition.name: condition.description for condition in compared}
    return facts | _record(predictions, images, index, descriptions) | rising(gains, index, images.names)


def _record(
    predictions: dict[str, Predictions], images: LabelledFiles, index: int, controls: dict[str, str]
) -> dict[str, Any]:
    """Means and intervals over the predictions; ``controls``: descriptions by name."""
    clean, marked = predictions[CLEAN], predictions[WATERMARK]
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
        "controls": {name: {"what": what, **_control(predictions, name)} for name, what in controls.items()},
        "bootstrap": {"resamples": RESAMPLES, "seed": SEED, "level": LEVEL, "over": "images"},
    }


def rising(gains: npt.NDArray[np.float32], index: int, names: Mapping[int, str]) -> dict[str, Any]:
    """The classes whose mean probability rises most, and the rank of the class of interest among all.

    ``first_in``: the share of bootstrap resamples in which a class rises most among those listed.
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
            "first_in": None if first is None else float(first[position]),
        }
        for position, number in enumerate(top)
    ]
    rank = int((rise > rise[index]).sum()) + 1
    return {"top_rising_class": classes[0], "rising_classes": classes, "carton_rise_rank": rank}


def _of_the_class(clean: Predictions, marked: Predictions, members: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Over the images of the class of interest; null if there are none."""
    count = int(members.sum())
    columns = {
        "carton_gap": (marked.correct - clean.correct)[members],
        "dp_carton_on_carton": (marked.p_class - clean.p_class)[members],
    }
    if count == 0:
        return {"n_carton": 0, **dict.fromkeys(columns), "carton_intervals": dict.fromkeys(columns)}
    return {"n_carton": count, **_means(columns), "carton_intervals": intervals(columns)}


def _control(predictions: dict[str, Predictions], name: str) -> dict[str, Any]:
    clean, marked, own = predictions[CLEAN], predictions[WATERMARK], predictions[name]
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


def average(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over models of what all of them have; null where one has no value.

    >>> average([{"gap": -0.1, "controls": {}}, {"gap": -0.3, "controls": {}}])["gap"]
    -0.2
    """
    shared = [name for name in records[0]["controls"] if all(name in record["controls"] for record in records)]
    return {
        "model": "average",
        "models": len(records),
        **{key: _mean_or_none([record.get(key) for record in records]) for key in _AVERAGED},
        "controls": {
            name: {
                key: _mean_or_none([record["controls"][name][key] for record in records])
                for key in _AVERAGED_OF_CONTROLS
            }
            for name in shared
        },
    }


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return sum(defined) / len(values) if len(defined) == len(values) else None
