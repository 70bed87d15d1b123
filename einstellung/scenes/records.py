"""``scenes.jsonl``: a line of JSON for every image, from which its scene can be rendered again to the last bit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from einstellung.errors import InputError
from einstellung.scenes.attributes import ATTRIBUTES, RADII, Codes, in_words
from einstellung.scenes.rule_book import PLACES
from einstellung.scenes.scene import Scenes


@dataclass(frozen=True)
class Recorded:
    """What records tell of their images; ``scenes`` where they hold a whole layout, ``places`` where they name them."""

    attributes: Codes
    places: Codes | None
    scenes: Scenes | None


def record(name: str, task: int, label: int, scenes: Scenes, places: Codes | None, row: int) -> str:
    """The line of one scene. Angles stand there twice: in degrees to be read, in radians to be exact."""
    objects = []
    for number, codes in enumerate(scenes.attributes[row]):
        words = in_words(codes)
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
    """The records of a file by image; a line that is no record is named."""
    found: dict[str, dict[str, Any]] = {}
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    one = json.loads(line)
                    found[str(one["image"])] = one
                except (json.JSONDecodeError, TypeError, KeyError):
                    raise InputError(f"{path}, line {number}: no record of an image; make the folder anew") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    return found


def recorded(names: Sequence[str], records: Mapping[str, Mapping[str, Any]], place: Path) -> Recorded:
    """What ``records`` tell of the images ``names``; ``place`` says where they stand, for the message about a wrong one."""
    name = ""
    try:
        lines = []
        for name in names:
            one = records[name]
            codes = [[values.index(item[key]) for key, values in ATTRIBUTES.items()] for item in one["objects"]]
            lines.append((one, codes))
        if min(len(codes) for _, codes in lines) != max(max(len(codes) for _, codes in lines), 1):
            raise InputError(f"{place}: its images have different numbers of objects, or none; make the folder anew")
        attributes = np.array([codes for _, codes in lines], dtype=np.uint8)
        found = [one for one, _ in lines]
        return Recorded(attributes, _places(found), _scenes(attributes, found))
    except KeyError as error:
        what = "has no record" if error.args == (name,) else f"has a record without {error}"
        raise InputError(f"{place}: the image {name} {what}; make the folder anew") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{place}: the record of {name} cannot be used ({error}); make the folder anew") from None


def _scenes(attributes: Codes, records: Sequence[Mapping[str, Any]]) -> Scenes | None:
    if not all("camera" in one and "lamps" in one and "radians" in one["objects"][0] for one in records):
        return None
    objects = [one["objects"] for one in records]
    return Scenes(
        attributes,
        np.array([[item["position"][:2] for item in some] for some in objects], dtype=np.float64),
        np.array([[item["radians"] for item in some] for some in objects], dtype=np.float64),
        np.array([one["camera"] for one in records], dtype=np.float64),
        np.array([one["lamps"] for one in records], dtype=np.float64),
    )


def _places(records: Sequence[Mapping[str, Any]]) -> Codes | None:
    if not all(name in item for one in records for item in one["objects"] for name in PLACES):
        return None
    codes = [
        [sum(known.index(item[name]) << step for step, (name, known) in enumerate(PLACES.items())) for item in one]
        for one in (one["objects"] for one in records)
    ]
    return np.array(codes, dtype=np.uint8)


def _height(words: Mapping[str, str]) -> float:
    """Of the centre above the ground: an object stands on it."""
    radius = RADII[ATTRIBUTES["size"].index(words["size"])]
    return radius / math.sqrt(2) if words["shape"] == "cube" else radius
