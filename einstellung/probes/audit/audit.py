"""The audit of one model, from its images and labels to findings.

Candidates are selected on half of the images and evaluated on the other half. A candidate is a finding if it beats the three
controls and pulls more than the strongest candidates of clean nets that also beat them (``null.yaml``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from torch import Tensor

from einstellung.errors import InputError
from einstellung.metrics.proportions import paired_difference_interval, wilson_interval
from einstellung.metrics.statistics import summarise
from einstellung.probes.audit.backgrounds import BACKGROUND, ExaminedBackground, examine_backgrounds
from einstellung.probes.audit.backgrounds import CONSTRUCTION as BACKGROUND_REPLACED
from einstellung.probes.audit.components import CONSTRUCTION, ExaminedComponent, examine_components
from einstellung.probes.audit.data_map import data_map
from einstellung.probes.audit.examination import FILLINGS, Examined, examine, examine_moving
from einstellung.probes.audit.localised import RECIPIENTS, Candidate, fixed_candidates, own_windows, refine
from einstellung.probes.audit.model import AuditedModel
from einstellung.probes.audit.progress import StageProgress
from einstellung.probes.audit.proxies import (
    ATTRIBUTIONS,
    IMAGES_PER_CLASS,
    PASSES,
    attribution_maps,
    captum_missing,
    occlusion_maps,
    proxy_rows,
    windows_of,
)
from einstellung.probes.audit.proxy_controls import passes_of_controls
from einstellung.probes.audit.recurrence import recurring_boxes
from einstellung.probes.audit.refinement import expected_finer, refined
from einstellung.probes.audit.replacements import replacement_rows
from einstellung.probes.audit.transplants import Doubles, Ints, PredictedImages, TransplantMap, pulls, transplant_map
from einstellung.probes.audit.windows import Box, grid, overlap, side_of
from einstellung.results.audit_files import BearingImage, Beats, Finding, ModelAudit, ProxyRow
from einstellung.yaml_text import parse_yaml

PROXIES = ("occlusion", "attribution", "replacement")
ROUTES = ("fixed", "recurring", "moving", "global")
ALARM_RATE = 0.05
FEWEST = 8  # images of a class: half to search, half to evaluate
DATA_ALONE = "data"
_EXAMINED = 6  # fixed candidates, the most promising ones


@dataclass(frozen=True)
class AuditSettings:
    """``budgets``: shares of pixels that masks cover; ``proxies``: which of :data:`PROXIES` to run; ``seed`` of all draws."""

    budgets: tuple[float, ...] = (0.02, 0.05)
    proxies: tuple[str, ...] = PROXIES
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.budgets or not all(0 < budget <= 0.25 for budget in self.budgets):
            raise InputError(f"the budget is {list(self.budgets)}: give shares of the pixels above 0 and up to 0.25")
        if unknown := [name for name in self.proxies if name not in PROXIES]:
            raise InputError(f"unknown proxy '{unknown[0]}': there are {', '.join(PROXIES)}")


@dataclass(frozen=True)
class Null:
    """The null distribution: for each clean net, the strongest candidate that beats all three controls, over all routes.

    Routes are fixed boxes, those whose content recurs in the class by the images alone (``recurring``; clean nets rarely have
    one), moving boxes and global components.
    ``scale``: what strengths are divided by, so that routes can be compared; ``largest``: of every clean net, ascending (0: none
    of its candidates beats all controls).
    """

    scale: Mapping[str, float]
    largest: tuple[float, ...]

    def p(self, route: str, strength: float) -> float:
        """The share of clean nets whose strongest candidate is at least as strong, counting this net among them.

        >>> Null({"fixed": 2.0}, (0.0, 0.5, 1.0)).p("fixed", 1.5)
        0.5
        """
        above = sum(one >= strength / self.scale[route] for one in self.largest)
        return (1 + above) / (1 + len(self.largest))

    def threshold(self, route: str) -> float:
        """Strengths above it have a p of at most :data:`ALARM_RATE`."""
        allowed = int(ALARM_RATE * (1 + len(self.largest))) - 1
        return self.largest[-1 - allowed] * self.scale[route]


@cache
def null_of_clean_nets() -> Null:
    """The null distribution measured on clean nets; ``python -m benchmarks audit`` recomputes it."""
    text = files("einstellung.probes.audit").joinpath("null.yaml").read_text(encoding="utf-8")
    content: Mapping[str, Any] = parse_yaml(text, "null.yaml")
    return Null(content["scale"], tuple(content["largest"]))


def audit_model(
    model: AuditedModel,
    images: Tensor,
    labels: Tensor,
    names: Mapping[int, str],
    settings: AuditSettings = AuditSettings(),
    on_progress: Callable[[int, int], object] = lambda done, total: None,
    everything: bool = False,
    baseline: AuditedModel | None = None,
    objects: Tensor | None = None,
) -> ModelAudit:
    """Audit a model on uint8 images [N, C, H, W] with their labels.

    ``baseline``: a model that the proxies' masks are applied to as well; ``objects``: bool [N, 1, H, W], where the object is.

    ``everything``: return all candidates, including those that clean nets also have; nulls are made from them.
    """
    begin = time.perf_counter()
    if len(images) != len(labels):
        raise InputError(f"there are {len(images)} images and {len(labels)} labels: give one label per image")
    present = np.unique(labels.numpy())
    if len(present) < 2:
        raise InputError("all images have the same label: an audit compares classes, give at least two")
    model.check(images, labels)
    predicted = PredictedImages.of(model, images, labels.numpy().astype(np.int64), baseline, objects)
    right = predicted.before.argmax(axis=1) == predicted.labels
    counts = {int(label): int((predicted.labels == label).sum()) for label in present}
    record: dict[str, Any] = {
        "accuracy": float(right.mean()),
        "per_class": {label: float(right[predicted.labels == label].mean()) for label in counts},
    }
    reason = _cannot_tell(counts, right)
    if reason is None:
        search = _Search(predicted, settings, on_progress)
        found = search.run(names)
        found = found if everything else unusual(found)
        record |= {"proxies": tuple(search.rows), "left_out": tuple(search.left_out)}
    else:
        found = []
    return ModelAudit(
        findings=tuple(one for one in found if one.beats.count == 3),
        suspicions=tuple(one for one in found if one.beats.count < 3),
        cannot_tell=reason,
        images_evaluated=model.images_seen,
        seconds=time.perf_counter() - begin,
        **record,
    )


def unusual(candidates: Sequence[Finding]) -> list[Finding]:
    """The candidates that clean nets rarely have, ordered by the number of controls they beat.

    If a class has a fixed cue that beats as many controls, a moving cue of that class counts as the same cue.
    """
    kept = [one for one in candidates if one.p <= ALARM_RATE and one.beats.count > 0]
    fixed = {
        label: max(one.beats.count for one in kept if one.box is not None and one.label == label)
        for label in {one.label for one in kept if one.box is not None}
    }
    kept = [one for one in kept if not (one.moves and one.beats.count <= fixed.get(one.label, 0))]
    return sorted(kept, key=lambda one: (-one.beats.count, one.p, -one.strength))


def _cannot_tell(counts: Mapping[int, int], right: np.ndarray) -> str | None:
    if (fewest := min(counts.values())) < FEWEST:
        label = min(counts, key=lambda one: counts[one])
        images = "1 image" if fewest == 1 else f"{fewest} images"
        return f"class {label} has {images}: an audit needs {FEWEST} of each class, half to search and half to evaluate"
    if wilson_interval(float(right.mean()), len(right))[0] <= max(counts.values()) / len(right):
        return f"the model's accuracy is {right.mean():.1%}, hardly above that of always predicting the most frequent class"
    return None


def halves(labels: Ints, draws: np.random.Generator) -> tuple[Ints, Ints]:
    """Rows of two halves with the same classes: one to search, one to evaluate."""
    first = np.concatenate(
        [
            draws.permutation(rows)[: len(rows) // 2]
            for rows in (np.flatnonzero(labels == one) for one in np.unique(labels))
        ]
    )
    return np.sort(first), np.setdiff1d(np.arange(len(labels)), first)


class _Search:
    """One audit: its two halves of the images, its random draws, and the proxies' results."""

    def __init__(
        self, predicted: PredictedImages, settings: AuditSettings, on_progress: Callable[[int, int], object]
    ) -> None:
        self.settings, self.predicted = settings, predicted
        self.draws = np.random.default_rng([settings.seed, len(predicted)])
        self.searched_rows, self.judged_rows = halves(predicted.labels, self.draws)
        self.searched, self.judged = predicted.take(self.searched_rows), predicted.take(self.judged_rows)
        # draws of their own: what the search finds does not depend on how proxies are controlled
        self.control_draws = np.random.default_rng([settings.seed, len(predicted), 3])
        height, width = predicted.images.shape[-2:]
        self.sides = sorted({side_of(budget, height, width) for budget in settings.budgets})
        self.windows = grid(height, width, self.sides[-1])
        self.rows: list[ProxyRow] = []
        self.left_out: list[str] = []
        self.searched_map: TransplantMap
        self.searched_windows: list[Box] | None = None
        self.progress = StageProgress(predicted.model, self._expected_passes(), on_progress)

    def _expected_passes(self) -> dict[str, float]:
        """Forward passes by stage; those per image without a formula were measured on nets of eight classes."""
        images, proxies = len(self.predicted), self.settings.proxies
        mapped = min(images / 2, IMAGES_PER_CLASS * len(self.predicted.classes))
        _, counts = np.unique(self.judged.labels, return_counts=True)
        controls = sum(map(passes_of_controls, counts.tolist()))
        masked = len(self.settings.budgets) * (images / 2 + controls)
        height, width = self.predicted.images.shape[-2:]
        occluders = len(grid(height, width, self.sides[0])) + expected_finer(
            height, width, self.sides[0], max(self.settings.budgets)
        )
        return {
            "search": len(self.windows) * images / 2,
            "occlusion": (occluders * mapped + masked) * ("occlusion" in proxies),
            "attribution": (sum(PASSES.values()) * mapped + 2 * masked) * ("attribution" in proxies),
            "replacement": 4.0 * images * ("replacement" in proxies),
            "judgement": len(self.windows) * images / 2,
            "boxes": 10.0 * images,
            "controls": 17.0 * images,
            "moving": 18.0 * images,
            "whole image": 12.0 * images,
            "background": 2.5 * images * (self.predicted.objects is not None),
        }

    def run(self, names: Mapping[int, str]) -> list[Finding]:
        side, progress = self.sides[-1], self.progress
        progress.begin("search")
        searched = transplant_map(self.searched, self.windows, self.draws)
        self.searched_map = searched
        seen = self._seen_by_others(side)
        if "replacement" in self.settings.proxies:
            progress.begin("replacement")
            draws = np.random.default_rng([self.settings.seed, len(self.predicted), 1])
            self.rows += replacement_rows(self.judged, self.searched, searched, max(self.settings.budgets), draws)
        progress.begin("judgement")
        judged = transplant_map(self.judged, self.windows, self.draws)
        candidates = self._refined(fixed_candidates(self.searched, searched, seen))
        progress.begin("controls", len(candidates))
        fixed = []
        for number, one in enumerate(candidates):
            progress.begin_part(number)
            fixed.append(examine(self.judged, judged, self.predicted, one, self.draws))
        progress.begin("moving")
        moving = examine_moving(self.judged, own_windows(self.judged, judged, self.draws), self.draws)
        progress.begin("whole image")
        components = examine_components(self.judged, self.draws)
        progress.begin("background")
        backgrounds = examine_backgrounds(self.judged, self.draws)
        found = [
            *(self._region(one, names) for one in (*fixed, *moving)),
            *(self._component(one, names) for one in components),
            *(self._background(one, names) for one in backgrounds),
        ]
        progress.finish()
        return found

    def _seen_by_others(self, side: int) -> list[tuple[int, Box, str]]:
        """Windows proposed by the data alone, occlusion and attribution; their masks' deltas on the other half."""
        alone = data_map(self.searched.images, self.searched.labels)
        best = [score for score in map(alone.best, alone.classes) if score.significant and score.window is not None]
        # boxes first: they fit the content, so windows at the same place are merged into them
        seen = [
            (label, box, DATA_ALONE)
            for label, box in recurring_boxes(self.searched.images, self.searched.labels, self.draws)[:_EXAMINED]
        ]
        seen += [
            (score.label, score.window, DATA_ALONE)
            for score in best
            if score.window is not None and score.value > 2 * score.distant
        ]
        if "occlusion" in self.settings.proxies:
            self.progress.begin("occlusion")
            maps = occlusion_maps(self.searched, self.sides[0], self.draws)
            seen += windows_of(maps, side)
            finer = refined(self.searched, maps, self.sides[0], max(self.settings.budgets))
            self.rows += proxy_rows(self.judged, finer, self.settings.budgets, self.control_draws)
        if "attribution" in self.settings.proxies:
            self.progress.begin("attribution")
            missing = captum_missing()
            if missing is None and not self.predicted.model.differentiable(self.predicted.images):
                missing = f"attribution was skipped: no gradient of {self.predicted.model.name} reaches its input"
            if missing is not None:
                self.left_out.append(missing)
                return seen
            for method in ATTRIBUTIONS:
                attributed = attribution_maps(self.searched, method, self.draws)
                if attributed is None:
                    name = self.predicted.model.name
                    self.left_out.append(
                        f"{method} was skipped: gradients of {name} are NaN or infinite for some images"
                    )
                    continue
                self.rows += proxy_rows(self.judged, attributed, self.settings.budgets, self.control_draws)
                seen += windows_of(attributed, side)
        return seen

    def _refined(self, seeds: Sequence[Candidate]) -> list[Candidate]:
        """The strongest candidates and those found from the data alone, with fitted boxes; one candidate per place."""
        predicted = self.searched
        worth = []
        for seed in seeds:
            assert seed.box is not None
            rows = np.flatnonzero(predicted.labels == seed.label)
            worth.append(float(pulls(predicted, rows, seed.box, seed.classes, 2, self.draws).mean()))
        kept: list[Candidate] = []
        ranked = np.argsort(-np.array(worth)).tolist()
        best = [*ranked[:_EXAMINED], *(one for one in ranked[_EXAMINED:] if DATA_ALONE in seeds[one].seen_by)]
        self.progress.begin("boxes", len(best))
        for number, place in enumerate(best):
            self.progress.begin_part(number)
            fitted = refine(predicted, seeds[int(place)], self.draws)
            assert fitted.box is not None
            same = [
                one
                for one in kept
                if one.label == fitted.label and one.box is not None and overlap(one.box, fitted.box)
            ]
            if not same:
                kept.append(fitted)
        return kept

    def _region(self, one: Examined, names: Mapping[int, str]) -> Finding:
        label, null = one.candidate.label, null_of_clean_nets()
        lost = one.lost["black"]
        fixed = one.candidate.box is not None
        route = "moving" if not fixed else "recurring" if DATA_ALONE in one.candidate.seen_by else "fixed"
        how = "a fixed place" if fixed else "a different place in each image"
        return Finding(
            label=label,
            name=names.get(label, str(label)),
            kind="localised",
            box=one.candidate.box,
            moves=not fixed,
            area=one.area,
            delta=float(lost.mean()),
            ci95=_interval(lost),
            found_by=one.candidate.seen_by,
            beats=Beats(nsc=one.beats_nsc(), random=one.beats_random(), fillings=one.beats_fillings()),
            images=self._bearing(one),
            pull=one.pull,
            pull_null=one.null_pull,
            strength=one.strength,
            threshold=null.threshold(route),
            p=null.p(route, one.strength),
            fillings={name: float(one.lost[name].mean()) for name in FILLINGS},
            nsc=one.nsc_lost,
            random=one.random_lost,
            construction=f"a box of {100 * one.area:.1f} % of the image at {how}, covered in black",
            shared_with=tuple(other for other in one.candidate.classes if other != label),
        )

    def _bearing(self, one: Examined) -> tuple[BearingImage, ...]:
        """The images of the class, strongest cue first."""
        label, box = one.candidate.label, one.candidate.box
        if box is None:
            rows, scores = self.judged_rows[one.rows], one.by_donor
            boxes: list[Box] = [one.boxes] if isinstance(one.boxes, tuple) else list(one.boxes)
            if (
                null_of_clean_nets().p("moving", one.strength) <= ALARM_RATE
            ):  # the other half, too, of what may be reported
                others, gained, places = self._bearing_of_searched(label)
                rows, scores = np.concatenate([rows, others]), np.concatenate([scores, gained])
                boxes += places
        else:
            rows = np.flatnonzero(self.predicted.labels == label)
            scores = pulls(self.predicted, rows, box, one.candidate.classes, RECIPIENTS, self.draws).mean(axis=1)
            boxes = [box] * len(rows)
        order = np.argsort(-scores, kind="stable")
        return tuple(BearingImage(index=int(rows[k]), score=float(scores[k]), box=boxes[int(k)]) for k in order)

    def _bearing_of_searched(self, label: int) -> tuple[Ints, Doubles, list[Box]]:
        """A class's images in the half that was searched: rows, what their strongest window pulls, and its place."""
        draws = np.random.default_rng([self.settings.seed, len(self.predicted), 2])
        if self.searched_windows is None:
            self.searched_windows = own_windows(self.searched, self.searched_map, draws)
        rows = np.flatnonzero(self.searched.labels == label)
        boxes = [self.searched_windows[int(row)] for row in rows]
        gained = pulls(self.searched, rows, boxes, (label,), RECIPIENTS, draws).mean(axis=1)
        return self.searched_rows[rows], gained, boxes

    def _component(self, one: ExaminedComponent, names: Mapping[int, str]) -> Finding:
        null = null_of_clean_nets()
        lost = one.lost["replaced"]
        order = np.argsort(-one.by_donor, kind="stable")
        rows = self.judged_rows[one.rows]
        return Finding(
            label=one.label,
            name=names.get(one.label, str(one.label)),
            kind="global",
            box=None,
            component=one.component,
            area=1.0,
            delta=float(lost.mean()),
            ci95=summarise(lost.tolist(), (-1.0, 1.0)).ci95,
            found_by=("replacement",),
            beats=Beats(nsc=one.beats_nsc(), random=one.beats_random(), fillings=one.beats_fillings()),
            images=tuple(BearingImage(index=int(rows[k]), score=float(one.by_donor[k]), box=None) for k in order),
            pull=one.pull,
            pull_null=one.null_pull,
            strength=one.strength,
            threshold=null.threshold("global"),
            p=null.p("global", one.strength),
            fillings={name: float(values.mean()) for name, values in one.lost.items() if name != "replaced"},
            nsc=one.nsc_lost,
            random=float(one.lost["of its own class"].mean()),
            construction=CONSTRUCTION[one.component],
        )

    def _background(self, one: ExaminedBackground, names: Mapping[int, str]) -> Finding:
        order = np.argsort(-one.fall, kind="stable")
        rows = self.judged_rows[one.rows]
        return Finding(
            label=one.label,
            name=names.get(one.label, str(one.label)),
            kind="global",
            box=None,
            component=BACKGROUND,
            area=one.area,
            delta=float(one.lost.mean()),
            ci95=_interval(one.lost),
            found_by=("replacement",),
            beats=Beats(nsc=one.beats_nsc(), random=one.beats_random(), fillings=one.beats_fillings()),
            images=tuple(BearingImage(index=int(rows[k]), score=float(one.fall[k]), box=None) for k in order),
            pull=one.pull,
            pull_null=one.pull_null,
            strength=one.strength,
            threshold=one.threshold,
            p=one.p,
            fillings={name: float(values.mean()) for name, values in one.fillings.items()},
            nsc=one.nsc_lost,
            random=float(one.same_lost.mean()),
            construction=BACKGROUND_REPLACED,
        )


def _interval(lost: np.ndarray) -> tuple[float, float]:
    return paired_difference_interval(int((lost > 0).sum()), int((lost < 0).sum()), len(lost))
