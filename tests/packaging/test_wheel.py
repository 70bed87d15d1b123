"""The wheel, built here in seconds: every file of the package is in it, and nothing else; the metadata are complete."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import einstellung

from .contents import ROOT, source_files, wheel_files

pytest.importorskip("hatchling")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def metadata(wheel) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_every_file_of_the_package_is_in_it_and_nothing_else(wheel):
    files = {name for name in wheel_files(wheel) if ".dist-info/" not in name}
    assert files == source_files()
    assert {Path(name).suffix for name in files} >= {".py", ".typed", ".html", ".css", ".js", ".yaml", ".png"}


def test_metadata_are_complete(metadata):
    assert metadata["Version"] == einstellung.__version__
    assert metadata["Author"] == "The Einstellung maintainers"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13)} <= set(
        metadata.get_all("Classifier")
    )
    assert "torch>=2.4" in metadata.get_all("Requires-Dist")


def test_the_long_description_has_no_link_that_leads_nowhere(metadata):
    text = metadata.get_payload()
    assert text.startswith("# Einstellung")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_with_an_address_links_and_images_are_absolute(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    import hatch_build

    readme = (
        "![a page](docs/images/report.png)\n[data](docs/data.md#cifar) [top](#two-commands) [out](https://a.example)\n"
    )
    address = "https://host.example/owner/name"
    assert hatch_build.long_description(readme, address) == (
        f"![a page]({address}/raw/HEAD/docs/images/report.png)\n"
        f"[data]({address}/blob/HEAD/docs/data.md#cifar) [top](#two-commands) [out](https://a.example)\n"
    )
    assert hatch_build.long_description(readme, "") == "data [top](#two-commands) [out](https://a.example)\n"
    assert hatch_build.urls("") == {}
    assert all(url.startswith(address) for url in hatch_build.urls(address).values())


def test_the_citation_names_the_same_software():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= citation.keys()  # what the format requires
    assert citation["version"] == einstellung.__version__
    assert citation["license"] == PROJECT["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in PROJECT["authors"]]


def test_every_extra_for_users_is_in_the_docs():
    page = (ROOT / "docs/installation.md").read_text(encoding="utf-8")
    extras = set(re.findall(r"^\| `([a-z]+)` \|", page, flags=re.MULTILINE))
    assert extras == PROJECT["optional-dependencies"].keys() - {"dev"}
