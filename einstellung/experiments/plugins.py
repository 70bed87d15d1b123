"""Plug-ins: Python files of the user that register learners, streams, cues, covers, backbones or launchers."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.foreign_files import read_bytes
from einstellung.results.config import PluginConfig

_MOST_BYTES = 2**24
_PREFIX = "einstellung_plugin_"
_loaded: dict[str, PluginConfig] = {}  # by module name


def load_plugins(plugins: Iterable[PluginConfig]) -> tuple[PluginConfig, ...]:
    """Execute each file once in this process; return the plug-ins with their hashes."""
    return tuple(_load(plugin) for plugin in plugins)


def plugins_behind(things: Iterable[Any]) -> dict[str, str]:
    """The plug-ins that registered these entries, as file name -> hash; part of the key of a run that uses them."""
    behind = [_loaded[module] for thing in things if (module := getattr(thing, "__module__", "")) in _loaded]
    return {Path(plugin.file).name: str(plugin.sha256) for plugin in behind}


def place_in_plugin(error: BaseException, plugins: Iterable[PluginConfig]) -> str:
    """`` (mine.py, line 7)``: the last line of a plug-in in the error's traceback; empty if there is none."""
    files = {plugin.file for plugin in plugins}
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""


def _load(plugin: PluginConfig) -> PluginConfig:
    try:
        path = Path(plugin.file).expanduser().resolve()
        content = read_bytes(path, _MOST_BYTES)
    except (InputError, RuntimeError) as error:  # RuntimeError: a link to itself, before Python 3.13
        raise InputError(f"plugins: {error}") from None
    sha256 = hashlib.sha256(content).hexdigest()
    if plugin.sha256 not in (None, sha256):
        raise InputError(f"plugins: {path} has changed since the study was prepared; rerun the command")
    found = PluginConfig(file=str(path), sha256=sha256)
    name = f"{_PREFIX}{path.stem}_{sha256[:12]}"
    if name not in _loaded:
        _run(path, name)
        _loaded[name] = found
    return found


def _run(path: Path, name: str) -> None:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"plugins: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses look up their module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InputError(f"plugins: {path} cannot be executed: {reason}") from error
