"""Layouts keep CLEVR's rules, belong to their scene alone, and leave the attributes as they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from einstellung.errors import InputError
from einstellung.scenes import layout
from einstellung.scenes.attributes import KINDS, RADII
from einstellung.scenes.layout import layouts_valid, place_scenes, quadrants, reference_masks
from einstellung.scenes.rendering import visible_pixels
from einstellung.scenes.rendering.geometry import scene_geometry
from einstellung.scenes.rendering.numpy_masks import find_nearest
from einstellung.scenes.rules import ObjectPattern, RuleBook
from einstellung.scenes.sampling import draw_attributes, scene_generator
from einstellung.scenes.scene import Scenes
from tests.scenes.rendering.some_scenes import drawn

LARGE_CUBE = np.array([0, 1, 0, 2], dtype=np.uint8)


def generators(count: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, number]) for number in range(count)]


def all_seen(scenes: Scenes) -> np.ndarray:
    """Masks in which every object has pixels enough, whatever the layout."""
    rows = np.arange(64) % (scenes.attributes.shape[1] + 1)
    return np.broadcast_to(rows[:, None], (len(scenes), 64, 64)).astype(np.uint8)


def clevr_margins(scenes: Scenes, row: int) -> list[float]:
    """The positive distances of all pairs along left, right, front and behind, from the moved camera."""
    x, y, _ = np.array([7.481, -6.508, 5.344]) + scenes.camera[row]
    behind = np.array([-x, -y]) / math.hypot(x, y)
    left = np.array([-behind[1], behind[0]])
    pairs = [(one - other) for one in scenes.position[row] for other in scenes.position[row]]
    found = [float(pair @ direction) for pair in pairs for direction in (left, -left, behind, -behind)]
    return [value for value in found if value > 0]


def test_gap_margin_and_visibility_hold():
    scenes = drawn(60, seed=1)
    numbers, _ = find_nearest(scene_geometry(scenes), 64)
    for row in range(len(scenes)):
        radii = [RADII[code] for code in scenes.attributes[row, :, 1]]
        for one in range(4):
            for other in range(one):
                apart = math.dist(scenes.position[row, one], scenes.position[row, other])
                assert apart - radii[one] - radii[other] >= 0.25
        assert min(clevr_margins(scenes, row)) >= 0.4
        assert all((numbers[row] == number).sum() >= 16 for number in (1, 2, 3, 4))
    assert np.abs(scenes.position).max() < 3
    assert layouts_valid(scenes).all()


def test_invalid_layouts_are_found():
    scenes = drawn(3, seed=2)
    hold = scenes.position.copy()
    touching, level, hidden = (hold.copy() for _ in range(3))
    ahead = np.array([-7.481, 6.508]) / math.hypot(7.481, 6.508)
    touching[0, 1] = hold[0, 0] + [0.5, 0.0]
    level[1] = [[0, 0], 2.5 * ahead, [2.5, 2], [-2, -2.7]]  # the second straight behind the first
    hidden[2] = [[2.9, -2.9], [30, 30], [1.5, 1], [-2, -2]]  # the second out of the picture
    still = np.zeros((3, 3))
    for row, position in enumerate((touching, level, hidden)):
        broken = Scenes(
            scenes.attributes, position, scenes.rotation, still if row == 1 else scenes.camera, scenes.lamps
        )
        assert layouts_valid(broken)[row] == np.False_
    assert layouts_valid(scenes).all()


def test_a_scene_depends_on_its_own_generator_alone(monkeypatch):
    kinds = KINDS[np.random.default_rng(3).integers(96, size=(7, 4))]
    whole = place_scenes(kinds, None, generators(7))
    monkeypatch.setattr(layout, "_CHUNK", 3)
    for again in (
        place_scenes(kinds, None, generators(7)),
        Scenes.joined([place_scenes(kinds[row : row + 1], None, [generators(7)[row]]) for row in range(7)]),
    ):
        for name in Scenes.__dataclass_fields__:
            assert getattr(again, name).tobytes() == getattr(whole, name).tobytes()
    np.testing.assert_array_equal(whole.attributes, kinds)


def test_four_large_cubes_find_room():
    scenes = place_scenes(np.tile(LARGE_CUBE, (40, 4, 1)), None, generators(40))
    assert layouts_valid(scenes).all()


def test_where_there_is_no_room_the_scene_is_named(monkeypatch):
    def only_spheres(scenes: Scenes) -> np.ndarray:
        return all_seen(scenes) * (scenes.attributes[:, :1, :1] == 1)

    monkeypatch.setattr(layout, "_MAX_LAYOUTS", 40)
    monkeypatch.setattr(layout, "_CHUNK", 2)
    kinds = np.tile(LARGE_CUBE, (3, 4, 1))
    kinds[:2, :, 0] = 1
    with pytest.raises(
        InputError, match=r"^scene 2 \(large blue rubber cube, .*\): none of 47 layouts .*; use fewer objects"
    ):
        place_scenes(kinds, None, generators(3), only_spheres)


def test_a_chunk_without_room_at_first_is_placed_in_the_end():
    """Four large objects in one quadrant: of a single layout there is often none to look at."""
    kinds, places = np.broadcast_to(LARGE_CUBE, (1, 4, 4)), np.zeros((1, 4), dtype=np.uint8)
    for seed in range(6):
        scenes = place_scenes(kinds, places, generators(1, seed))
        assert (quadrants(scenes.position) == places).all()


def test_objects_stand_in_their_quadrants_as_the_camera_sees_them():
    places = np.random.default_rng(4).integers(4, size=(20, 4)).astype(np.uint8)
    scenes = place_scenes(KINDS[np.random.default_rng(5).integers(96, size=(20, 4))], places, generators(20))
    np.testing.assert_array_equal(quadrants(scenes.position), places)
    # seen by the unmoved camera: left of the picture's middle, and (on the ground) below it
    still = Scenes(scenes.attributes, scenes.position, scenes.rotation, np.zeros((20, 3)), scenes.lamps)
    on = scene_geometry(still)
    ground = np.concatenate([still.position, np.zeros((20, 4, 1))], axis=-1) - on.eye[:, None]
    deep, right, up = ((ground * axis[:, None]).sum(-1) for axis in (on.forward, on.sideways, on.upward))
    np.testing.assert_array_equal(right / deep >= 0, places % 2 == 1)
    np.testing.assert_array_equal(up / deep >= 0, places >= 2)


def test_places_are_spread_evenly_and_no_object_is_favoured():
    """In the whole square, and within a quadrant: the order of placing is random, so first and last have one law."""
    small = np.tile(np.array([1, 0, 0, 0], dtype=np.uint8), (4000, 2, 1))
    anywhere = place_scenes(small, None, generators(4000, 6), all_seen)
    first, last = (np.abs(anywhere.position[:, item]).max(axis=1) for item in (0, 1))
    assert abs(first.mean() - last.mean()) < 4 * math.sqrt((first.var() + last.var()) / 4000)
    assert abs(np.abs(anywhere.position).max(axis=2).mean() - 2.0) < 0.06  # 2 for a point in a square of half side 3
    corner = place_scenes(small, np.full((4000, 2), 3, np.uint8), generators(4000, 7), all_seen)
    right_back = anywhere.position[:, 0][quadrants(anywhere.position[:, 0]) == 3]
    for axis in range(2):
        spread = math.sqrt(right_back[:, axis].var() * (1 / len(right_back) + 1 / 4000))
        assert abs(corner.position[:, 0, axis].mean() - right_back[:, axis].mean()) < 4.5 * spread


def test_camera_and_lamps_are_moved_evenly_and_stay_when_objects_are_placed_again():
    kinds = KINDS[np.random.default_rng(8).integers(96, size=(400, 4))]
    scenes = place_scenes(kinds, None, generators(400, 8))
    for moved, most in ((scenes.camera, 0.5), (scenes.lamps, 1.0)):
        assert 0.95 * most < np.abs(moved).max() <= most
        assert abs(moved.mean()) < 4 * most / math.sqrt(3 * moved.size)
    assert scenes.rotation.min() >= 0
    assert 6.2 < scenes.rotation.max() < 2 * math.pi
    first_draw = place_scenes(kinds, None, generators(400, 8), all_seen)
    np.testing.assert_array_equal(first_draw.camera, scenes.camera)
    np.testing.assert_array_equal(first_draw.lamps, scenes.lamps)
    assert not np.array_equal(first_draw.position, scenes.position)  # some had too few pixels


def test_no_scenes_are_no_error():
    assert len(place_scenes(np.zeros((0, 4, 4), np.uint8), None, [])) == 0


def test_scenes_with_places_find_a_layout_though_small_objects_stand_far_away():
    """Under the usual rule about one scene in a hundred of these has no layout at all."""
    book = RuleBook(
        (ObjectPattern(shape="sphere"), ObjectPattern(shape="cube", size="small")),
        ((ObjectPattern(shape="cube", size="small", depth="back"),),),
    )
    own = [scene_generator(0, "strict", "train", 0, 1, number) for number in range(400)]
    attributes, places = draw_attributes(book, "strict", 0, 1, own)
    scenes = place_scenes(attributes, places, own)
    assert np.array_equal(quadrants(scenes.position), places)
    seen = visible_pixels(reference_masks(scenes), 4)
    assert seen.min() >= 8
    assert layouts_valid(scenes, in_places=True).all()
    assert not layouts_valid(scenes).all()
