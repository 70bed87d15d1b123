"""``audit.json``: the findings of an audit for unknown cues in every model, and the evidence for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from einstellung.errors import InputError
from einstellung.hashes import read_sealed, write_sealed

FORMAT: Literal[1] = 1
AUDIT_FILE, PICTURES_FILE = "audit.json", "audit_pictures.npz"
NORMAL_SPLIT, COVERED_SPLIT = "audit_normal", "audit_covered"
Interval = tuple[float, float] | None
Box = tuple[int, int, int, int]
Kind = Literal["localised", "global"]


#: The number of a class: 'class' in JSON, which is a keyword in Python.
CLASS: Any = Field(validation_alias=AliasChoices("class", "label"), serialization_alias="class")


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True)


class Beats(_Record):
    """Whether the effect is larger than that of each control."""

    nsc: bool
    random: bool
    fillings: bool

    @property
    def count(self) -> int:
        return sum((self.nsc, self.random, self.fillings))


class BearingImage(_Record):
    """An image with the cue, the strength of the cue (what the class gains if its region is pasted), and its place.

    ``box``: in pixels of the stored image; ``input_box``: in those that the model received.
    """

    index: int
    score: float
    box: Box | None
    input_box: Box | None = None


class Finding(_Record):
    """A cue, or a suspected one.

    - ``label``: written as "class". ``name``: the class's name.
    - ``box``: top, left, height, width in pixels of the stored image (where stored sizes differ: of the first of ``images``);
      None if the cue is global, or moves (``moves``): every image then has its own box. ``input_box``: the same in the pixels
      that the model received, after resizing and cropping. ``area``: share of what the model received. ``component``: what was
      replaced, for a global cue.
    - ``delta``: accuracy on images of the class minus accuracy with the region covered in black (localised) or the component
      replaced by that of another image (global); ``ci95`` over images, paired.
    - ``pull``: how much the class gains, on average, where the region of its images is pasted into images of other classes;
      ``pull_null``: the same for random regions of other classes; ``strength``: their ratio; ``threshold``: what it must exceed.
    - ``p``: the share of clean nets whose strongest candidate is as strong (``docs/audit.md``).
    - ``fillings``, ``nsc`` and ``random``: the deltas of the controls.
    """

    label: int = CLASS
    name: str
    kind: Kind
    box: Box | None
    input_box: Box | None = None
    moves: bool = False
    component: str | None = None
    area: float
    delta: float
    ci95: Interval
    found_by: tuple[str, ...]
    beats: Beats
    images: tuple[BearingImage, ...]
    pull: float
    pull_null: float
    strength: float
    threshold: float
    p: float
    fillings: Mapping[str, float]
    nsc: float | None
    random: float | None
    construction: str
    shared_with: tuple[int, ...] = ()


class ProxyRow(_Record):
    """What a proxy of the paper gives for one class: accuracy lost under a mask of fixed area, on other images.

    ``delta_baseline`` and ``sfr_rel``, the difference, under the same masks on the same images: where there is a baseline.
    Deletion maps (occlusion, attribution) have controls, on ``controlled`` images of the class: ``nsc``, the delta of the
    mask on images of other classes; ``random``, the mean delta of ``random_masks`` masks of equal area and shape elsewhere, and
    ``random_ci95``, the middle 95 % of them; ``fillings``, the deltas with each filling; ``beats``, what the mask is beyond.
    """

    proxy: Literal["occlusion", "attribution", "replacement"]
    method: str
    label: int = CLASS
    budget: float
    area: float
    delta: float
    ci95: Interval
    n: int
    delta_baseline: float | None = None
    sfr_rel: float | None = None
    sfr_rel_ci95: Interval = None
    controlled: int | None = None
    nsc: float | None = None
    random: float | None = None
    random_ci95: Interval = None
    random_masks: int | None = None
    fillings: Mapping[str, float] = Field(default_factory=dict)
    beats: Beats | None = None


class ModelAudit(_Record):
    """The findings for one model. ``cannot_tell``: why the audit is inconclusive; None if it is conclusive."""

    findings: tuple[Finding, ...]
    suspicions: tuple[Finding, ...]
    cannot_tell: str | None = None
    accuracy: float
    per_class: Mapping[int, float]
    proxies: tuple[ProxyRow, ...] = ()
    left_out: tuple[str, ...] = ()
    images_evaluated: int
    seconds: float


class RelativeRow(_Record):
    """The same masks on a model and its baseline: delta of both, and their difference, the proxy of SFR_rel; paired by image."""

    model: str
    baseline: str
    label: int = CLASS
    mask: str
    area: float
    delta: float
    delta_baseline: float
    sfr_rel: float
    ci95: Interval
    n: int


class DataWindow(_Record):
    """How well one window, or one property, predicts a class from the images alone; see ``docs/audit.md``.

    ``box``: in pixels of the stored image (where sizes differ: of the first image of the class). ``value``: the share of the
    class's images that are predicted; ``null``: its bound under shuffled labels; ``elsewhere``: by the best window that does not
    overlap.
    """

    label: int = CLASS
    phase: str | None = None
    box: Box | None
    property: str | None
    value: float
    null: float
    elsewhere: float | None
    alarm: bool


class AuditFile(_Record):
    """The complete result of an audit.

    ``image_names``: of the audited images in their order, the file of each or its index in its data set; empty where the images
    came as an array, whose positions name them. ``image_size``: what models received, ``stored_size``: what is stored (None
    where sizes differ), both height and width.
    """

    format: Literal[1] = FORMAT
    models: Mapping[str, ModelAudit]
    relative: tuple[RelativeRow, ...] = ()
    data: tuple[DataWindow, ...] = ()
    class_names: Mapping[int, str]
    image_names: tuple[str | int, ...] = ()
    n_images: int
    image_size: tuple[int, int]
    stored_size: tuple[int, int] | None = None
    settings: Mapping[str, Any]
    provenance: Mapping[str, Any] = Field(default_factory=dict)

    def image_name(self, index: int) -> str | int:
        """The file name or index of an audited image."""
        return self.image_names[index] if self.image_names else index

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)

    def summary(self) -> dict[str, Any]:
        """What ``einstellung audit --json`` prints: images by their names, the relative index by model."""
        models = {}
        for name, one in self.models.items():
            parts = {key: [self._named(found) for found in getattr(one, key)] for key in ("findings", "suspicions")}
            models[name] = {**one.model_dump(mode="json", by_alias=True), **parts}
        relative: dict[str, list[Any]] = {}
        for row in self.relative:
            relative.setdefault(row.model, []).append(row.model_dump(mode="json", by_alias=True))
        own = self.model_dump(mode="json", by_alias=True, exclude={"models", "relative", "image_names"})
        return {"models": models, "relative": relative, **own}

    def _named(self, found: Finding) -> dict[str, Any]:
        record = found.model_dump(mode="json", by_alias=True)
        bearing = record["images"]
        record["images"] = [self.image_name(image["index"]) for image in bearing]
        record["image_scores"] = [image["score"] for image in bearing]
        record["image_boxes"] = [image["box"] for image in bearing]
        record["image_input_boxes"] = [image["input_box"] for image in bearing]
        return record


def write_audit(folder: Path, audit: AuditFile) -> Path:
    return write_sealed(folder / AUDIT_FILE, audit.model_dump(mode="json", by_alias=True))


def read_audit(folder: Path) -> AuditFile:
    """The audit in a folder; an error says what is wrong with the file."""
    path = folder / AUDIT_FILE
    if not path.exists():
        raise InputError(f"{folder} holds no {AUDIT_FILE}: run 'einstellung audit' first")
    try:
        return AuditFile.model_validate(read_sealed(path))
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise InputError(f"{path} is not the file of an audit: {where}: {problem['msg']}") from None
