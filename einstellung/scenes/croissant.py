"""``croissant.json``: metadata of a folder of scenes in the Croissant format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from einstellung.scenes.manifest import HASH_LIST, RECORDS
from einstellung.scenes.rules import RuleBook
from einstellung.scenes.sampling import SPLITS

_LICENCE = "https://creativecommons.org/publicdomain/zero/1.0/"
_PAPER = "https://arxiv.org/abs/2402.06434"
_CITE = "Busch et al.: Where is the Truth? The Risk of Getting Confounded in a Continual World"

# The JSON-LD context that version 1.0 of the format requires.
_CROISSANT_TERMS = """
citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset jsonPath key md5
parentField path recordSet references regex repeated replace samplingRate separator source subField transform
"""
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{word: f"cr:{word}" for word in _CROISSANT_TERMS.split()},
}

_PART = f"([^/]+)/({'|'.join(SPLITS)})/images/t([0-9]+)/([01])/[^/]+[.]png$"
_GROUPS = ("case", "split", "task", "label")


def croissant(book: RuleBook, manifest: Mapping[str, Any], lists: Mapping[str, str]) -> dict[str, Any]:
    """The metadata; ``lists`` maps the paths of record files and hash lists to their own hashes."""
    size = manifest["settings"]["size"]
    files = [_file(path, value) for path, value in lists.items()]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "einstellung-concon",
        "description": (
            f"Pictures of {book.objects} objects, {size}x{size} pixels. Positive: {book.ground_truth_words()}. Confounders: "
            f"{'; '.join(book.confounder_words(task) for task in range(book.tasks))}. Cases: {', '.join(manifest['cases'])}."
        ),
        "license": _LICENCE,
        "url": _PAPER,
        "citeAs": _CITE,
        "creator": {"@type": "sc:Organization", "name": "einstellung"},
        "datePublished": manifest["made"],
        "version": "1.0.0",
        "isLiveDataset": False,
        "distribution": [
            *files,
            _files("images", "Pictures, by case, split, task and label.", "image/png", "*/*/images/*/*/*.png"),
            _files("masks", "Which object a pixel shows.", "image/png", "*/*/masks/*/*/*.png"),
            _files("records", "A record of every scene.", "application/jsonlines", f"*/*/{RECORDS}"),
        ],
        "recordSet": [_splits(), _pictures()],
    }


def _file(path: str, sha256: str) -> dict[str, Any]:
    kind = "application/jsonlines" if path.endswith(RECORDS) else "text/plain"
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "description": "Records of scenes."
        if path.endswith(RECORDS)
        else f"Hashes of all files of a split ({HASH_LIST}).",
        "contentUrl": path,
        "encodingFormat": kind,
        "sha256": sha256,
    }


def _files(name: str, words: str, kind: str, pattern: str) -> dict[str, Any]:
    """Plain files of this folder, not members of an archive."""
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        "description": words,
        "encodingFormat": kind,
        "includes": pattern,
    }


def _splits() -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": "splits",
        "name": "splits",
        "description": "The splits of every case.",
        "dataType": "cr:Split",
        "key": {"@id": "splits/name"},
        "field": [_field("splits/name", "The split's name.", "sc:Text")],
        "data": [{"splits/name": split} for split in SPLITS],
    }


def _pictures() -> dict[str, Any]:
    path = _from_images({"extract": {"fileProperty": "fullpath"}})
    words = {
        "case": ("The case: case_strict_main, case_disjoint_main or unconfounded.", "sc:Text"),
        "split": ("train, val or test.", "sc:Text"),
        "task": ("The number of the task, from 0.", "sc:Integer"),
        "label": ("1: the rule holds; 0: it does not.", "sc:Integer"),
    }
    fields = [
        {
            **_field("pictures/image", "The picture.", "sc:ImageObject"),
            **_from_images({"extract": {"fileProperty": "content"}}),
        },
        {**_field("pictures/path", "Its path in the folder.", "sc:Text"), **path},
    ]
    for number, name in enumerate(_GROUPS):
        source = {"extract": {"fileProperty": "fullpath"}, "transform": {"regex": _only(number)}}
        fields.append({**_field(f"pictures/{name}", *words[name]), **_from_images(source)})
    return {
        "@type": "cr:RecordSet",
        "@id": "pictures",
        "name": "pictures",
        "description": "Every picture with its case, split, task and label.",
        "field": fields,
    }


def _from_images(source: Mapping[str, Any]) -> dict[str, Any]:
    return {"source": {"fileSet": {"@id": "images"}, **source}}


def _field(name: str, words: str, kind: str) -> dict[str, Any]:
    return {"@type": "cr:Field", "@id": name, "name": name, "description": words, "dataType": kind}


def _only(number: int) -> str:
    """The path pattern with a single capturing group: readers take the first group as the value."""
    pieces = _PART.split("(")
    return "(".join([pieces[0], *(("" if group == number else "?:") + piece for group, piece in enumerate(pieces[1:]))])
