"""Boxes that an audit found, for pictures without boxes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.files import read_json

Box = tuple[int, int, int, int]
_FILE = "audit.json"


@dataclass(frozen=True)
class FoundBoxes:
    """Boxes (top, left, height, width) in pictures of ``height`` x ``width``: by class and, of a cue that moves, by picture.

    A picture is named by its file or by its row in the table, as the audit named it.
    """

    by_class: Mapping[str, Box]
    by_picture: Mapping[str, Box]
    height: int
    width: int

    def box(self, label: str, row: int, file: Path) -> Box | None:
        """The box of a picture; None where the audit found none."""
        names = (str(row), file.name, f"{file.parent.name}/{file.name}")
        own = next((self.by_picture[name] for name in names if name in self.by_picture), None)
        return own or self.by_class.get(label)

    @property
    def area(self) -> float:
        """The mean share of a picture that a box covers."""
        boxes = [*self.by_class.values(), *self.by_picture.values()]
        return sum(box[2] * box[3] for box in boxes) / len(boxes) / (self.height * self.width)

    def facts(self) -> dict[str, Any]:
        return {
            "boxes": "found by an audit, not given",
            "area": round(self.area, 4),
            "classes": {name: list(box) for name, box in sorted(self.by_class.items())},
            "pictures": len(self.by_picture),
        }


def read_found_boxes(path: Path) -> FoundBoxes:
    """The localised findings of an audit, of every class the strongest over all models; suspicions do not count."""
    file = path / _FILE if path.is_dir() else path
    content = read_json(file)
    try:
        height, width = content["image_size"]
        if content["settings"].get("cropped"):
            raise InputError(f"{file}: its pictures were cropped for the model, so its boxes do not fit whole pictures")
        strongest: dict[str, Mapping[str, Any]] = {}
        for model in content["models"].values():
            for found in model["findings"]:
                best = strongest.get(found["name"])
                if found["kind"] == "localised" and (best is None or best["strength"] < found["strength"]):
                    strongest[found["name"]] = found
        by_class = {name: _box(found["box"]) for name, found in strongest.items() if found["box"] is not None}
        names = content["image_names"]
        by_picture = {
            str(names[image["index"]] if names else image["index"]): _box(image["box"])
            for found in strongest.values()
            if found["box"] is None
            for image in found["images"]
            if image["box"] is not None
        }
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(
            f"{file} is not the file of an audit ({type(error).__name__}: {error}): make one with 'einstellung audit --out'"
        ) from None
    if not by_class and not by_picture:
        raise InputError(f"{file}: the audit found no localised cue, so there is no box to cover")
    return FoundBoxes(by_class, by_picture, int(height), int(width))


def _box(values: Any) -> Box:
    top, left, height, width = map(int, values)
    return top, left, height, width
