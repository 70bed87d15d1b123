"""The transforms one by one: each is the linear map of its matrix, and each backward map the transpose of its forward one."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba")

from einstellung.kernels import winograd

# Lavin and Gray (2016), equations 6 and 8-10: B^T, G, A^T for F(2, 3) and F(4, 3)
MATRICES = {
    2: (
        np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]]),
        np.array([[1, 0, 0], [1 / 2, 1 / 2, 1 / 2], [1 / 2, -1 / 2, 1 / 2], [0, 0, 1]]),
        np.array([[1, 1, 1, 0], [0, 1, -1, -1]]),
    ),
    4: (
        np.array(
            [
                [4, 0, -5, 0, 1, 0],
                [0, -4, -4, 1, 1, 0],
                [0, 4, -4, -1, 1, 0],
                [0, -2, -1, 2, 1, 0],
                [0, 2, -1, -2, 1, 0],
                [0, 4, 0, -5, 0, 1],
            ]
        ),
        np.array(
            [
                [1 / 4, 0, 0],
                [-1 / 6, -1 / 6, -1 / 6],
                [-1 / 6, 1 / 6, -1 / 6],
                [1 / 24, 1 / 12, 1 / 6],
                [1 / 24, -1 / 12, 1 / 6],
                [0, 0, 1],
            ]
        ),
        np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]),
    ),
}


def run(name: str, source: np.ndarray, target: np.ndarray, count: int) -> np.ndarray:
    getattr(winograd, name)(source.view(np.complex128), target.view(np.complex128), 0, count, 0)
    return target


def draw(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("side", [2, 4])
def test_one_dimensional_maps_make_a_correlation(side: int) -> None:
    """A^T [(G w) . (B^T x)] is x correlated with w, checked on the published matrices themselves."""
    inputs, weights, outputs = MATRICES[side]
    x, w = draw(side + 2, seed=0).astype(float), draw(3, seed=1).astype(float)
    assert np.allclose(outputs @ ((weights @ w) * (inputs @ x)), np.correlate(x, w, "valid"))


@pytest.mark.parametrize("side", [2, 4])
def test_each_map_is_that_of_its_matrix(side: int) -> None:
    inputs, weights, outputs = MATRICES[side]
    size = side + 2
    x = draw(1, 2 * side, 2 * side, 16, seed=0)
    tiles = run(f"input{side}", x, np.empty((size**2, 4, 16), np.float32), 1)
    padded = np.pad(x[0], ((1, 1), (1, 1), (0, 0)))
    for tile, (row, col) in enumerate([(0, 0), (0, side), (side, 0), (side, side)]):
        expected = np.einsum("ia,jb,abc->ijc", inputs, inputs, padded[row : row + size, col : col + size])
        assert np.allclose(tiles[:, tile].reshape(size, size, 16), expected, atol=1e-4)
    w = draw(5, 3, 3, 16, seed=1)
    transformed = run(f"weight{side}", w, np.empty((size**2, 5, 16), np.float32), 5)
    assert np.allclose(
        transformed.reshape(size, size, 5, 16), np.einsum("ia,jb,kabc->ijkc", weights, weights, w), atol=1e-5
    )
    products = draw(size**2, 1, 16, seed=2)
    y = run(f"output{side}", products, np.empty((1, side, side, 16), np.float32), 1)
    expected = np.einsum("ai,bj,ijc->abc", outputs, outputs, products.reshape(size, size, 16))
    assert np.allclose(y[0], expected, atol=1e-3)


@pytest.mark.parametrize("side", [2, 4])
@pytest.mark.parametrize("name", ["input", "output", "weight"])
@pytest.mark.parametrize("pixels", [(8, 8), (5, 7), (1, 3)])
def test_backward_maps_are_transposed(side: int, name: str, pixels: tuple[int, int]) -> None:
    """<T x, t> = <x, T' t> for any x and t, with parts of tiles outside the image too."""
    if name == "weight":
        pixels, tiles_per_image = (3, 3), 1
    else:
        tiles_per_image = -(-pixels[0] // side) * -(-pixels[1] // side)
    images = draw(3, *pixels, 32, seed=0)
    tiles = draw((side + 2) ** 2, 3 * tiles_per_image, 32, seed=1)
    to_tiles, to_images = f"{name}{side}", f"{name}{side}_transposed"
    if name == "output":
        to_tiles, to_images = to_images, to_tiles
    forward = run(to_tiles, images, np.empty_like(tiles), 3)
    back = run(to_images, tiles, np.zeros_like(images), 3)
    one, other = np.vdot(forward.astype(float), tiles), np.vdot(images.astype(float), back)
    assert abs(one - other) < 1e-5 * (np.linalg.norm(forward) * np.linalg.norm(tiles))
