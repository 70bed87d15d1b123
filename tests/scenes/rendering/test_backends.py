"""Pictures: light by its formula, shadows, mirrors, colours, and the same from both casters, whatever the lot."""

from __future__ import annotations

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.scenes.attributes import COLOURS, MATERIALS
from einstellung.scenes.rendering import BACKENDS, backends, render, resolve_backend
from einstellung.scenes.rendering.geometry import LAMPS, scene_geometry
from einstellung.scenes.rendering.look import EXPOSURE, LEVELS, MAX_LIGHT, POWER, TINT, grey_levels, look
from tests.scenes.rendering.some_scenes import by_hand, drawn

FAST = resolve_backend("auto")


def pixel_of(place: tuple[float, float, float], size: int) -> tuple[int, int]:
    on = scene_geometry(by_hand(("sphere small rubber red", 0, 0)))
    relative = np.array(place) - on.eye[0]
    deep, right, up = (float(relative @ axis[0]) for axis in (on.forward, on.sideways, on.upward))
    return int((0.5 - up / deep * 35 / 32) * size), int((0.5 + right / deep * 35 / 32) * size)


def grey(light: np.ndarray) -> np.ndarray:
    return grey_levels()[np.round(np.sqrt(light / MAX_LIGHT) * (LEVELS - 1)).astype(int)].astype(int)


def inside(masks: np.ndarray) -> np.ndarray:
    """The pixels of the first object whose neighbours are all its own."""
    own = masks == 1
    for axis in (1, 2):
        own = own & np.roll(own, 1, axis) & np.roll(own, -1, axis)
    return own


def lamp_light(point: np.ndarray, lamps: list[int]) -> np.ndarray:
    """What a white face on the ground sends back, of each colour, summed over lamps: power cos cos' / (pi d^2).

    The second cosine is the lamp's, which is turned to the origin; of d^2 three quarters are as if the point were there.
    """
    total = np.zeros(3)
    for lamp in lamps:
        to = LAMPS[lamp] - point
        apart, high = np.linalg.norm(to), np.linalg.norm(LAMPS[lamp])
        cosines = to[2] / apart * (to @ LAMPS[lamp]) / (apart * high)
        total += POWER[lamp] * np.array(TINT[lamp]) * cosines / (np.pi * (apart**2 + 3 * high**2) / 4)
    return EXPOSURE * total


def test_ground_is_lit_by_the_lamps_that_it_sees():
    """Beside nothing, by all; in the umbra of the fill lamp, by all but that one."""
    size, values = 96, look()
    point, sphere = np.array([0.5, -1.0, 0.0]), np.array([30.0, 30.0])
    alone = by_hand(("sphere large rubber red", *sphere))
    row, column = pixel_of((0.5, -1.0, 0.0), size)
    open_ground = values.constants.ground * (lamp_light(point, [0, 1, 2, 3]) + values.constants.sky)
    shown = render(alone, size, FAST)[0][0, row, column].astype(int)
    assert np.abs(shown - grey(open_ground)).max() <= 2
    towards = (LAMPS[1] - point)[:2] / np.linalg.norm((LAMPS[1] - point)[:2])
    shadowing = by_hand(("sphere large rubber red", *(point[:2] + 1.1 * towards)))
    away = scene_geometry(shadowing).centre[0, 0] - point
    left = 1 - 0.49 / (away @ away) * away[2] / np.linalg.norm(away)
    dark = values.constants.ground * (lamp_light(point, [0, 2, 3]) + values.constants.sky * left)
    pictures, masks = render(shadowing, size, FAST)
    assert masks[0, row, column] == 0
    assert np.abs(pictures[0, row, column].astype(int) - grey(dark)).max() <= 2
    assert (grey(open_ground) - grey(dark)).min() > 10


def test_metal_mirrors_its_neighbour_and_rubber_does_not():
    for material, least, most in (("metal", 30, 255), ("rubber", 0, 12)):
        ball = (f"sphere large {material} gray", 0.0, 0.0)
        pictures = [
            render(by_hand(ball, ("cube large rubber red", *place)), 64, FAST) for place in ((1.5, 0.1), (30.0, 30.0))
        ]
        (neighbour, mask), (alone, _) = pictures
        redder = (neighbour[..., 0].astype(int) - neighbour[..., 2]) - (alone[..., 0].astype(int) - alone[..., 2])
        assert least <= redder[inside(mask)].max() <= most


def test_turning_what_is_round_and_cubes_by_quarters_changes_nothing():
    for shape, turn in (("sphere", 1.0), ("cylinder", 1.0), ("cube", np.pi / 2)):
        one, other = (
            render(by_hand((f"{shape} large metal green", 0.4, 0.2), rotation=angle), 64, FAST)[0].astype(int)
            for angle in (0.2, 0.2 + turn)
        )
        assert np.abs(one - other).max() <= 1
    askew = render(by_hand(("cube large metal green", 0.4, 0.2), rotation=0.9), 64, FAST)[0]
    assert np.abs(askew.astype(int) - one).max() > 20


def test_every_colour_and_material_looks_different():
    """By the mean colour of the pixels of a small sphere at 64 x 64, for the same light."""
    seen = {}
    for material in MATERIALS:
        for colour in COLOURS:
            picture, mask = render(by_hand((f"sphere small {material} {colour}", 0.5, -0.5)), 64, FAST)
            seen[material, colour] = picture[mask == 1].astype(float)
    for material in MATERIALS:
        means = np.stack([seen[material, colour].mean(axis=0) for colour in COLOURS])
        apart = np.abs(means[:, None] - means).max(axis=-1)[~np.eye(len(COLOURS), dtype=bool)]
        assert apart.min() > 12
        assert means[COLOURS.index("blue")].argmax() == 2
        assert means[COLOURS.index("red")].argmax() == 0
        assert np.ptp(means[COLOURS.index("gray")]) < 12
    for colour in COLOURS:
        rough, shiny = seen["rubber", colour], seen["metal", colour]
        assert np.abs(shiny - rough).max(axis=1).mean() > 15


def test_an_image_does_not_depend_on_its_batch():
    scenes = drawn(5, seed=5)
    for backend in {FAST, "torch"}:
        images, masks = render(scenes, 32, backend)
        assert images.shape == (5, 32, 32, 3)
        assert masks.shape == (5, 32, 32)
        for row in (0, 4):
            alone = render(scenes.take(slice(row, row + 1)), 32, backend)
            assert alone[0].tobytes() == images[row].tobytes()
            assert alone[1].tobytes() == masks[row].tobytes()


def test_torch_and_numba_paint_the_same_pictures():
    pytest.importorskip("numba")
    scenes = drawn(12, seed=6)
    (ours, masks), (theirs, same) = (render(scenes, 48, backend) for backend in ("numba", "torch"))
    np.testing.assert_array_equal(masks, same)
    apart = np.abs(ours.astype(int) - theirs)
    # the same bytes where both compute alike; a processor or compiler that does not may turn a pixel at an outline
    assert apart.mean() < 0.05
    assert (apart.max(axis=-1) <= 1).mean() > 0.999


def test_the_picture_is_the_mean_of_finer_ones():
    """Twice the size shows the same scene: averaged by fours it differs by little."""
    scenes = drawn(3, seed=7)
    small, large = (render(scenes, size, FAST)[0].astype(float) for size in (32, 64))
    averaged = large.reshape(3, 32, 2, 32, 2, 3).mean(axis=(2, 4))
    assert np.abs(small - averaged).mean() < 2


def test_no_scenes_give_no_pictures():
    none = drawn(1).take(slice(0, 0))
    for backend in {FAST, "torch"}:
        assert [values.shape for values in render(none, 16, backend)] == [(0, 16, 16, 3), (0, 16, 16)]


def test_missing_backends_are_named(monkeypatch):
    assert resolve_backend("torch") == "torch"
    with pytest.raises(InputError, match="unknown backend 'nmba': did you mean 'numba'"):
        resolve_backend("nmba")
    monkeypatch.delenv("EINSTELLUNG_BPY_PYTHON", raising=False)
    monkeypatch.setattr(backends.blender, "find_spec", lambda name: None)
    with pytest.raises(
        InputError, match="'bpy' needs Blender's module: pip install bpy, or set EINSTELLUNG_BPY_PYTHON to"
    ):
        resolve_backend("bpy")
    backends.numba_obstacle.cache_clear()
    monkeypatch.setattr(backends, "find_spec", lambda name: None)
    try:
        assert resolve_backend("auto") == "torch"
        with pytest.raises(InputError, match=r"'numba' needs numba: pip install 'einstellung\[fast\]', or give 'auto'"):
            resolve_backend("numba")
    finally:
        backends.numba_obstacle.cache_clear()
    assert BACKENDS == ("numba", "torch", "bpy")


def test_numba_without_a_writable_cache_is_named(monkeypatch):
    def broken(name: str) -> None:
        raise RuntimeError("cannot cache function '_paint': no locator available")

    backends.numba_obstacle.cache_clear()
    monkeypatch.setattr(backends, "find_spec", lambda name: object())
    monkeypatch.setattr(backends, "import_module", broken)
    try:
        with pytest.raises(InputError, match=r"no locator available.*NUMBA_CACHE_DIR"):
            resolve_backend("numba")
    finally:
        backends.numba_obstacle.cache_clear()
