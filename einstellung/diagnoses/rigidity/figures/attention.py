"""The figures of attention: what each needs, how it is drawn, and what its caption says."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from matplotlib.figure import Figure

from einstellung.diagnoses.rigidity.attention import share
from einstellung.diagnoses.rigidity.card import RigidityCard
from einstellung.diagnoses.rigidity.figures.attention_epochs import PANELS, box_area, draw_attention_epochs
from einstellung.diagnoses.rigidity.figures.attention_heads import draw_attention_heads, has_heads
from einstellung.diagnoses.rigidity.figures.attention_maps import (
    MOST_EXAMPLES,
    VARIANTS,
    draw_attention_maps,
    moments_shown,
)
from einstellung.prose import join
from einstellung.report.figures.plan import Plan
from einstellung.report.notation import number
from einstellung.results.attention_files import ROLLOUT, AttentionRun, AttentionRuns, Moment
from einstellung.timeline import SC_PATCH, Run

_ONE = "a single seed"
SECTION = "attention"

_EPOCHS = """Share of the class token's attention, rolled out over all layers, inside the cue's box, on the test
images of the shortcut classes ({images}) with the cue, without it, and with it covered; {spread}.
At 0: the end of phase 1, where there was one.{even}"""

_EVEN = """ Dotted: the box's share of the image ({area}), which evenly spread attention would give."""

_HEADS = """Every head of every layer at the end of phase 2, mean over seeds; {seeds}. Left: share of the class
token's attention inside the cue's box, on the shortcut classes' test images ({images}) with the cue. Right, where
clean images were measured: SAG, the relative increase over the same images without the cue."""

_MAPS = """Attention of {method}, seed {seed}, on {count} test image{s} of the shortcut classes; {moments}. Map: the
class token's attention rolled out over all layers, one square per token; dark is 0, bright the largest value of the
row's three maps, on a square-root scale so that weak attention is visible. Overlay: the map over the greyscale
image. Frame: the cue's box, drawn even where the cue is absent. AS: the share of this map inside the box."""


def attention_plans(runs: AttentionRuns, card: RigidityCard) -> Iterator[Plan]:
    """Shares over epochs, heads by layers, and one sheet of maps per method; nothing where there is no attention."""
    attention = card.attention
    if not runs or attention is None:
        return
    words = {"seeds": _seeds(runs), "images": _images(runs)}
    deviation = f"mean over seeds, bands one standard deviation (ddof 1); {words['seeds']}"
    area = box_area(runs)
    boxed = any(
        share(run, moment, split, ROLLOUT)[0] is not None
        for run in runs.values()
        for moment in run.moments
        for split in PANELS
    )
    yield Plan(
        "attention_epochs",
        "Attention on the cue's box over time",
        _worded(
            _EPOCHS,
            spread=words["seeds"] if words["seeds"] == _ONE else deviation,
            even=_EVEN.format(area=number(area)) if area is not None else "",
            **words,
        ),
        lambda: draw_attention_epochs(runs, card),
        None if boxed else "no split has a cue box",
        SECTION,
    )
    yield Plan(
        "attention_heads",
        "Attention on the cue's box, heads by layers",
        _worded(_HEADS, **words),
        lambda: draw_attention_heads(card, attention),
        None if has_heads(attention) else f"{SC_PATCH} with a cue box was not measured at the end of T2",
        SECTION,
    )
    yield from (_maps(method, runs) for method in card.methods if any(name == method for name, _ in runs))


def _maps(method: str, runs: AttentionRuns) -> Plan:
    """Those of the first seed that has any."""
    own = {run: found for run, found in runs.items() if run[0] == method}
    shown: dict[Run, list[Moment]] = {run: moments_shown(found) for run, found in own.items()}
    run = next((run for run, moments in shown.items() if moments), None)
    name, title = f"attention_maps_{method}", f"Attention maps of {method}"
    if run is None:
        lacking = join(VARIANTS)
        return Plan(name, title, "", Figure, f"no examples with their maps were stored for {lacking}", SECTION)
    moments = shown[run]
    count = min(len(own[run].arrays["example_regions"]), MOST_EXAMPLES)
    caption = _worded(
        _MAPS, method=method, seed=run[1], count=count, s="s" if count > 1 else "", moments=_moments(moments)
    )
    return Plan(name, title, caption, _drawer(own[run], moments), section=SECTION, pictures=True)


def _drawer(run: AttentionRun, moments: list[Moment]) -> Callable[[], Figure]:
    return lambda: draw_attention_maps(run, moments)


def _moments(moments: list[Moment]) -> str:
    """When.

    >>> _moments([("T1", 50.0), ("T2", 20.0)])
    'at the end of phase 1, before training with any cue, and at the end of phase 2'
    """
    words = {"T1": "at the end of phase 1, before training with any cue", "T2": "at the end of phase 2"}
    return ", and ".join(words[phase] for phase, _ in moments)


def _images(runs: AttentionRuns) -> str:
    counts = sorted(
        {
            reading.n
            for run in runs.values()
            for (_, split, place), reading in run.readings.items()
            if split == SC_PATCH and place == ROLLOUT
        }
    )
    return " or ".join(f"{count:,}" for count in counts) + " images" if counts else "none"


def _seeds(runs: AttentionRuns) -> str:
    """How many seeds a method has with attention."""
    per_method: dict[str, int] = {}
    for method, _ in runs:
        per_method[method] = per_method.get(method, 0) + 1
    low, high = min(per_method.values()), max(per_method.values())
    if low != high:
        return f"{low} to {high} seeds per method"
    return _ONE if low == 1 else f"{low} seeds per method"


def _worded(template: str, **words: object) -> str:
    return " ".join(template.format(**words).split())
