"""Launchers: every module in this folder registers one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from einstellung.experiments.launcher import launchers, make_launcher

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["launchers", "make_launcher"]
