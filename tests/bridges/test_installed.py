"""Optional packages: what is said where one is missing, broken or built for another torch."""

from __future__ import annotations

from importlib.machinery import ModuleSpec

import pytest

from einstellung.bridges import installed
from einstellung.bridges.installed import declare_torchvision_operators, import_framework
from einstellung.errors import InputError


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of the given content that can be imported."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, content: str) -> str:
        (tmp_path / f"{name}.py").write_text(content)
        return name

    return write


def test_a_package_that_misses_another_names_it(package):
    with pytest.raises(InputError, match="'no_such_thing' is missing"):
        import_framework(package("framework_a", "import no_such_thing"), "framework-a")


def test_a_torchvision_that_does_not_fit_is_explained(package):
    broken = "raise RuntimeError('operator torchvision::nms does not exist')"
    with pytest.raises(InputError, match=r"does not fit this torch.*declare_torchvision_operators"):
        import_framework(package("framework_b", broken), "framework-b")


def test_any_other_error_is_not_touched(package):
    with pytest.raises(RuntimeError, match="something else"):
        import_framework(package("framework_c", "raise RuntimeError('something else')"), "framework-c")


def test_nothing_is_declared_where_torchvision_is_not_installed(monkeypatch):
    monkeypatch.setattr(installed, "find_spec", lambda name: None)
    monkeypatch.setattr(installed, "_declared", [])
    assert declare_torchvision_operators() is False
    assert installed._declared == []


def test_nothing_is_declared_where_the_compiled_part_loads(monkeypatch, tmp_path):
    (tmp_path / "_C.so").touch()
    spec = ModuleSpec("torchvision", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    loaded: list[str] = []
    monkeypatch.setattr(installed, "find_spec", lambda name: spec)
    monkeypatch.setattr(installed, "_declared", [])
    monkeypatch.setattr("torch.ops.load_library", loaded.append)
    assert declare_torchvision_operators() is False
    assert loaded == [str(tmp_path / "_C.so")]
