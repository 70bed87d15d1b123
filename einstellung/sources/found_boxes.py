"""Boxes that an audit found, for images without boxes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.files import digest, read_json
from einstellung.sources.geometry import Box, Geometry, scaled_box

_FILE = "audit.json"


@dataclass(frozen=True)
class Stored:
    """A stored image: its ``name`` (path or index) and its size in pixels."""

    name: str
    height: int
    width: int


@dataclass(frozen=True)
class FoundBoxes:
    """Boxes in the ``height`` x ``width`` pixels that the audited model received: by class and, of a moving cue, by image.

    Images are named as the audit named them. ``geometry``: how files were resized and cropped; None for images used as they are.
    """

    file: Path
    by_class: Mapping[str, Box]
    by_image: Mapping[str, Box]
    height: int
    width: int
    geometry: Geometry | None = None

    def input_box(self, label: str, name: str) -> Box | None:
        """The box in the model's input; None where the audit found none."""
        return self._of_image(name) or self.by_class.get(label)

    def box(self, label: str, image: Stored) -> Box | None:
        """The box in the pixels of the stored image."""
        if (own := self.input_box(label, image.name)) is None:
            return None
        if self.geometry is None:
            return scaled_box(own, self.height, self.width, image.height, image.width)
        return self.geometry.stored_box(own, image.height, image.width)

    def _of_image(self, name: str) -> Box | None:
        """By its name or, if the audit read another folder of the same files, by the only name that ends or begins likewise."""
        if name in self.by_image:
            return self.by_image[name]
        alike = [one for one in self.by_image if f"/{one}".endswith(f"/{name}") or f"/{name}".endswith(f"/{one}")]
        return self.by_image[alike[0]] if len(alike) == 1 else None

    @property
    def area(self) -> float:
        """The mean share of an image that a box covers."""
        boxes = [*self.by_class.values(), *self.by_image.values()]
        return sum(box[2] * box[3] for box in boxes) / len(boxes) / (self.height * self.width)

    def facts(self) -> dict[str, Any]:
        return {
            "boxes": "found by an audit, not given",
            "area": round(self.area, 4),
            "classes": {name: list(box) for name, box in sorted(self.by_class.items())},
            "images": len(self.by_image),
            "content": digest([self.by_class, self.by_image, self.height, self.width, repr(self.geometry)], length=64),
        }


def read_found_boxes(path: Path) -> FoundBoxes:
    """The localised findings of an audit, for every class the strongest over all models; suspicions do not count."""
    file = path / _FILE if path.is_dir() else path
    content = read_json(file)
    try:
        height, width = map(int, content["image_size"])
        names, class_names = content["image_names"], content["class_names"]
        strongest: dict[str, Mapping[str, Any]] = {}
        for model in content["models"].values():
            for found in model["findings"]:
                if found["kind"] != "localised":
                    continue
                for label in (found["class"], *found["shared_with"]):
                    name = str(class_names[str(label)])
                    if name not in strongest or strongest[name]["strength"] < found["strength"]:
                        strongest[name] = found
        by_class = {name: _box(one["input_box"]) for name, one in strongest.items() if one["input_box"] is not None}
        by_image = {
            str(names[image["index"]] if names else image["index"]): _box(image["input_box"])
            for one in strongest.values()
            if one["input_box"] is None
            for image in one["images"]
            if image["input_box"] is not None
        }
        how = content["settings"].get("preparation")
        geometry = None if how is None else Geometry(int(how["size"]), int(how["resize"]), bool(how["squash"]))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(
            f"{file} is not the file of an audit ({type(error).__name__}: {error}): make one with 'einstellung audit --out'"
        ) from None
    if not by_class and not by_image:
        raise InputError(f"{file}: the audit found no localised cue, so there is no box to cover")
    return FoundBoxes(file, by_class, by_image, height, width, geometry)


def _box(values: Any) -> Box:
    top, left, height, width = map(int, values)
    return top, left, height, width
