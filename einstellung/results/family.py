"""A family: studies that vary a common configuration, each in its own folder below one root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from einstellung.errors import InputError
from einstellung.files import write_text
from einstellung.registry import suggestion
from einstellung.results.config import PlainName, StudyConfig, build_config, merged, with_assignments
from einstellung.results.folder import member_folder, other_files
from einstellung.yaml_text import read_yaml

KEY = "studies"
_TAKEN = (
    "family.html",
    "family.json",
    "family.yaml",
    "figures",
    "first_phases",
    "tables",
)  # other files in the root


@dataclass(frozen=True)
class Family:
    """The common configuration, and the changes of each member by the name of its folder."""

    common: Mapping[str, Any]
    members: Mapping[str, Mapping[str, Any]]

    @staticmethod
    def of(values: Mapping[str, Any], where: str) -> Family | None:
        """The family that a configuration describes under ``studies``; None for a single study.

        >>> Family.of({"seeds": [1], "studies": {"a": {"stream": "shapes"}, "b": {}}}, "x.yaml").members
        {'a': {'stream': 'shapes'}, 'b': {}}
        >>> Family.of({"seeds": [1]}, "x.yaml") is None
        True
        """
        if KEY not in values:
            return None
        members = values[KEY]
        if not isinstance(members, Mapping) or len(members) < 2:
            raise InputError(f"{where}: studies must name at least two studies, each with its changes")
        for name, change in members.items():
            _require_plain(name, where)
            if change is not None and not isinstance(change, Mapping):
                raise InputError(f"{where}: studies.{name} must contain 'key: value' lines")
        common = {key: value for key, value in values.items() if key != KEY}
        return Family(common, {str(name): dict(change or {}) for name, change in members.items()})

    def studies(
        self, where: str, assignments: Sequence[str] = (), last_word: Mapping[str, Any] | None = None
    ) -> dict[str, StudyConfig]:
        """A configuration for every member; ``assignments`` and ``last_word`` come from the command line and override it."""
        result = {}
        for name, change in self.members.items():
            values = with_assignments(merged(self.common, change), assignments)
            result[name] = build_config({**values, **(last_word or {}), "name": name}, f"{where}, study {name}")
        return result

    def some(self, names: Sequence[str], where: str) -> Family:
        """The family with these members only, in its own order.

        >>> family = Family({}, {"a": {}, "b": {}, "c": {}})
        >>> list(family.some(["c", "a"], "x.yaml").members)
        ['a', 'c']
        """
        for name in names:
            if name not in self.members:
                raise InputError(f"{where} has no study '{name}'; {suggestion(name, self.members)}")
        return Family(self.common, {name: change for name, change in self.members.items() if name in names})


def _require_plain(name: Any, where: str) -> None:
    """Refuse what cannot be the name of a study's folder directly below that of its family."""
    try:
        TypeAdapter(PlainName).validate_python(name)
    except ValidationError:
        raise InputError(f"{where}: studies.{name}: choose a plain name that can be a folder's name") from None
    if name.lower() in _TAKEN:
        raise InputError(f"{where}: studies.{name}: this name is reserved for shared files; choose another")


def family_file(root: Path) -> Path:
    return root / "family.yaml"


def check_family_root(root: Path) -> None:
    """Refuse a folder with other content."""
    if root.exists() and not root.is_dir():
        raise InputError(f"{root} is a file; choose a folder for --out")
    if family_file(root).exists() or not root.is_dir():
        return
    if others := other_files(root):
        raise InputError(f"{root} contains other files ({others[0]}, ...); choose a new or empty folder for --out")


def write_family(root: Path, names: Sequence[str], order: Sequence[str] = ()) -> None:
    """Record the members of a family in its root; members of an earlier call stay.

    They are sorted as in ``order``, whichever ran first; members that it does not name come last.
    """
    known = read_family(root) if family_file(root).exists() else []
    together = [*known, *(name for name in names if name not in known)]
    kept = [name for name in order if name in together]
    kept += [name for name in together if name not in kept]
    write_text(family_file(root), yaml.safe_dump({KEY: kept}, sort_keys=False))


def read_family(root: Path) -> list[str]:
    """The names of the members' folders."""
    try:
        stored = read_yaml(family_file(root))
        names = [str(name) for name in stored[KEY]]
    except (KeyError, TypeError) as error:
        raise InputError(f"cannot read {family_file(root)}: {error}") from None
    for name in names:
        _require_plain(name, str(family_file(root)))
        member_folder(root, name)
    return names
