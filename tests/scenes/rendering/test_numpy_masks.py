"""What is seen where: against points inside the solids, and the same from numpy and numba."""

from __future__ import annotations

import math

import numpy as np
import pytest

from einstellung.scenes.rendering import backends, least_visible, numpy_masks, object_masks, visible_pixels
from einstellung.scenes.rendering.geometry import scene_geometry
from einstellung.scenes.rendering.numpy_masks import find_nearest
from einstellung.scenes.scene import Scenes
from tests.scenes.rendering.some_scenes import by_hand, drawn

SIZE = 96


def pinhole_rays() -> tuple[np.ndarray, np.ndarray]:
    """Eye and rays of the unmoved camera, from the focal length in pixels."""
    eye = np.array([7.481, -6.508, 5.344])
    back = eye / np.linalg.norm(eye)
    right = np.cross([0, 0, 1], back)
    right /= np.linalg.norm(right)
    focal = 35 / 32 * SIZE
    i, j = np.mgrid[:SIZE, :SIZE] + 0.5
    rays = (j - SIZE / 2)[..., None] * right - (i - SIZE / 2)[..., None] * np.cross(back, right) - focal * back
    return eye, rays / np.linalg.norm(rays, axis=-1, keepdims=True)


def inside(shape: str, radius: float, points: np.ndarray) -> np.ndarray:
    """Points as seen from where the object stands, turned by its rotation of .3."""
    x = points[..., 0] * math.cos(0.3) + points[..., 1] * math.sin(0.3)
    y = points[..., 1] * math.cos(0.3) - points[..., 0] * math.sin(0.3)
    z = points[..., 2]
    if shape == "sphere":
        return x**2 + y**2 + (z - radius) ** 2 < radius**2
    if shape == "cylinder":
        return (x**2 + y**2 < radius**2) & (z > 0) & (z < 2 * radius)
    side = math.sqrt(2) * radius
    return (np.abs(x) < side / 2) & (np.abs(y) < side / 2) & (z > 0) & (z < side)


@pytest.mark.parametrize("shape", ["cube", "sphere", "cylinder"])
@pytest.mark.parametrize(("size", "radius"), [("small", 0.35), ("large", 0.7)])
def test_a_pixel_is_covered_where_its_ray_goes_through_the_solid(shape, size, radius):
    place = np.array([1.2, -0.8, 0.0])
    eye, rays = pinhole_rays()
    far = np.linalg.norm(place - eye)
    deep = np.arange(far - 1.4, far + 1.2, 0.01)
    expected = inside(shape, radius, eye + deep[:, None, None, None] * rays - place)
    numbers, distance = find_nearest(scene_geometry(by_hand((f"{shape} {size} rubber red", 1.2, -0.8))), SIZE)
    covered = expected.any(axis=0)
    assert covered.sum() > 20
    assert not (covered & (numbers[0] == 0)).any()
    assert ((numbers[0] == 1) & ~covered).sum() <= 0.03 * covered.sum()  # rays that only graze it, between two points
    first = deep[expected.argmax(axis=0)]
    ahead = -rays @ (eye / np.linalg.norm(eye))  # the caster's rays are longer: of length 1 straight ahead
    assert np.abs(distance[0][covered] / ahead[covered] - first[covered]).max() < 0.02


def test_the_nearer_object_hides_the_other_whatever_their_order():
    near, far = ("sphere large rubber red", 1.2, -1.0), ("cube small metal blue", 0.36, 0.32)
    one, _ = find_nearest(scene_geometry(by_hand(near, far)), SIZE)
    other, _ = find_nearest(scene_geometry(by_hand(far, near)), SIZE)
    alone, _ = find_nearest(scene_geometry(by_hand(far)), SIZE)
    np.testing.assert_array_equal(np.array([0, 2, 1])[one], other)
    assert 0 < (one == 2).sum() < (alone == 1).sum()
    assert (one[alone == 1] > 0).all()


def test_nothing_is_cut_off_where_rays_are_not_tried(monkeypatch):
    scenes = drawn(12, seed=1)
    found = find_nearest(scene_geometry(scenes), SIZE)
    monkeypatch.setattr(numpy_masks, "boxes", lambda on, size: np.tile([0, size, 0, size], (*on.shape.shape, 1)))
    np.testing.assert_array_equal(find_nearest(scene_geometry(scenes), SIZE)[0], found[0])


def test_numba_and_numpy_agree_on_every_pixel():
    pytest.importorskip("numba")
    from einstellung.scenes.rendering import numba_caster

    scenes = drawn(150, seed=2)
    # and with faces, edges and rays in line, where a rounding error would show
    straight = Scenes(
        scenes.attributes,
        np.round(scenes.position, 1),
        np.round(scenes.rotation / (np.pi / 4)) * (np.pi / 4),
        np.zeros_like(scenes.camera),
        scenes.lamps,
    )
    for some, size in ((scenes, 64), (straight, 64), (scenes.take(slice(0, 20)), 128)):
        masks, _ = find_nearest(scene_geometry(some), size)
        np.testing.assert_array_equal(numba_caster.cast_masks(scene_geometry(some), size), masks)
        np.testing.assert_array_equal(object_masks(some, size), masks)


def test_without_numba_masks_are_found_by_numpy(monkeypatch):
    scenes = drawn(2, seed=3)
    expected = object_masks(scenes, 64)
    monkeypatch.setattr(backends, "numba_obstacle", lambda: "needs numba")
    np.testing.assert_array_equal(object_masks(scenes, 64), expected)


def test_pixels_are_counted_for_every_object_and_scene():
    masks = object_masks(drawn(5, seed=4), 64)
    counted = visible_pixels(masks, 4)
    assert counted.tolist() == [[int((mask == number).sum()) for number in (1, 2, 3, 4)] for mask in masks]
    assert (counted >= least_visible(64)).all()
