"""What can render here, and what stands in the way of the rest."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.scenes.rendering import blender

BACKENDS = ("numba", "torch", "bpy")


def resolve_backend(name: str) -> str:
    """The backend to use: ``auto`` is numba where it can compile here, and torch otherwise.

    >>> resolve_backend("torch")
    'torch'
    """
    if name == "auto":
        return "torch" if numba_obstacle() else "numba"
    if name not in BACKENDS:
        raise InputError(f"unknown backend '{name}': {suggestion(name, ['auto', *BACKENDS])}")
    obstacle = numba_obstacle() if name == "numba" else blender.obstacle() if name == "bpy" else None
    if obstacle is not None:
        raise InputError(f"the backend '{name}' {obstacle}, or give 'auto'")
    return name


@cache
def numba_obstacle() -> str | None:
    """Why numba cannot be used, found out once, and what to do about it."""
    if find_spec("numba") is None:
        return "needs numba: pip install 'einstellung[fast]'"
    try:
        import_module("einstellung.scenes.rendering.numba_caster")
    except Exception as error:  # noqa: BLE001 - of numba or LLVM, of whatever kind: torch renders without them
        reason = " ".join(str(error).split())
        return f"cannot be compiled here ({reason}): let NUMBA_CACHE_DIR name a folder that can be written"
    return None
