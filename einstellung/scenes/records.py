"""``scenes.jsonl``: one line of JSON per image, from which its scene can be rendered again bit for bit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from einstellung.errors import InputError
from einstellung.foreign_files import MOST_TABLE_BYTES, text_lines
from einstellung.scenes.attributes import ATTRIBUTES, RADII, Codes, describe_object
from einstellung.scenes.rule_book import PLACES
from einstellung.scenes.scene import Floats, Scenes


@dataclass(frozen=True)
class RecordedScenes:
    """The content of records; ``scenes`` and ``places`` only if all records have layouts and places."""

    attributes: Codes
    places: Codes | None
    scenes: Scenes | None


def scene_record(name: str, task: int, label: int, scenes: Scenes, places: Codes | None, row: int) -> str:
    """The line of one scene. Angles are given in degrees for readers and in radians for exactness."""
    objects = []
    for number, codes in enumerate(scenes.attributes[row]):
        words = describe_object(codes)
        x, y = scenes.position[row, number].tolist()
        angle = float(scenes.rotation[row, number])
        one: dict[str, Any] = {**words, "position": [x, y, _height(words)]}
        one |= {"rotation": round(math.degrees(angle), 3), "radians": angle}
        if places is not None:
            code = int(places[row, number])
            one |= {name: known[code >> step & 1] for step, (name, known) in enumerate(PLACES.items())}
        objects.append(one)
    camera, lamps = scenes.camera[row].tolist(), scenes.lamps[row].tolist()
    line = {"image": name, "task": task, "label": label, "objects": objects, "camera": camera, "lamps": lamps}
    return json.dumps(line, separators=(",", ":"), allow_nan=False)


def read_records(path: Path) -> dict[str, dict[str, Any]]:
    """Read the records of a file, by image; the message about an invalid line names it."""
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(text_lines(path, MOST_TABLE_BYTES), start=1):
        try:
            one = json.loads(line)
            name = str(one["image"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(f"{path}, line {number}: not a record of an image; make the folder again") from None
        if name in found:
            raise InputError(f"{path}, line {number}: {name} has a second record; make the folder again")
        found[name] = one
    return found


def scenes_from_records(names: Sequence[str], records: Mapping[str, Mapping[str, Any]], source: Path) -> RecordedScenes:
    """The scenes of the images ``names``; ``source`` is the file named in error messages."""
    name = ""
    try:
        found, codes = [], []
        for name in names:
            found.append(one := records[name])
            codes.append([[values.index(item[key]) for key, values in ATTRIBUTES.items()] for item in one["objects"]])
        if min(map(len, codes)) != max(max(map(len, codes)), 1):
            raise InputError(f"{source}: images have different numbers of objects, or none; make the folder again")
        places, layouts = [], []
        with_places, with_layout = all(map(_has_places, found)), all(map(_has_layout, found))
        for name in names:  # one at a time, so that the message names the right image
            one = records[name]
            if with_places:
                places.append(_places(one["objects"]))
            if with_layout:
                layouts.append(_layout(one))
        attributes = np.array(codes, dtype=np.uint8)
        return RecordedScenes(
            attributes,
            np.array(places, dtype=np.uint8) if with_places else None,
            Scenes(attributes, *map(np.array, zip(*layouts, strict=True))) if with_layout else None,
        )
    except KeyError as error:
        what = "has no record" if error.args == (name,) else f"has a record without {error}"
        raise InputError(f"{source}: the image {name} {what}; make the folder again") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{source}: the record of {name} is invalid ({error}); make the folder again") from None


def finite(values: Any, *shape: int) -> Floats:
    """Finite numbers as an array of the given shape.

    >>> finite([1, float("nan")], 2)
    Traceback (most recent call last):
    ValueError: [1, nan] should be 2 numbers
    """
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{values} should be {' x '.join(map(str, shape))} numbers")
    return array


def _has_layout(one: Mapping[str, Any]) -> bool:
    return "camera" in one and "lamps" in one and "radians" in one["objects"][0]


def _layout(one: Mapping[str, Any]) -> tuple[Floats, Floats, Floats, Floats]:
    """Position, rotation, camera and lamps of one scene."""
    objects = one["objects"]
    return (
        finite([item["position"][:2] for item in objects], len(objects), 2),
        finite([item["radians"] for item in objects], len(objects)),
        finite(one["camera"], 3),
        finite(one["lamps"], 3, 3),
    )


def _has_places(one: Mapping[str, Any]) -> bool:
    return all(name in item for item in one["objects"] for name in PLACES)


def _places(objects: Sequence[Mapping[str, Any]]) -> list[int]:
    return [
        sum(known.index(item[name]) << step for step, (name, known) in enumerate(PLACES.items())) for item in objects
    ]


def _height(words: Mapping[str, str]) -> float:
    """The height of an object's centre: it stands on the ground."""
    radius = RADII[ATTRIBUTES["size"].index(words["size"])]
    return radius / math.sqrt(2) if words["shape"] == "cube" else radius
