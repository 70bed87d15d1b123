"""Every reader of files that others wrote, as a function of bytes, with sound contents to start from."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.faults import hostile
from tests.faults.material import SMALL, predictions, timeline


@dataclass(frozen=True)
class Reader:
    """``read`` takes bytes and a scratch folder; ``seeds`` are contents that it accepts; ``text``: whether these are text."""

    read: Callable[[bytes, Path], object]
    seeds: Callable[[], list[bytes]]
    text: bool = False


def _file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def _configuration(content: bytes, folder: Path) -> None:
    from einstellung.results.config import build_config, read_config
    from einstellung.results.family import Family

    values = read_config(_file(folder, "a.yaml", content))
    if Family.of(values, "a.yaml") is None:
        build_config(values, "a.yaml")


def _assignment(content: bytes, folder: Path) -> None:
    from einstellung.results.config import build_config, with_assignments
    from einstellung.results.sweep import Sweep

    text = content.decode("utf-8", "replace")
    Sweep.parse(f"cue.size={text}").studies(dict(SMALL), "x")
    build_config(with_assignments(dict(SMALL), [text]), "x")


def _sweep(content: bytes, folder: Path) -> None:
    from einstellung.results.sweep import read_sweep

    _file(folder, "sweep.yaml", content)
    read_sweep(folder)


def _family(content: bytes, folder: Path) -> None:
    from einstellung.results.family import read_family

    _file(folder, "family.yaml", content)
    read_family(folder)


def _logs(name: str, scored: bool = False) -> Callable[[bytes, Path], None]:
    def read(content: bytes, folder: Path) -> None:
        from einstellung.diagnoses.registry import recognise
        from einstellung.diagnoses.reporting import evidence_of_logs
        from einstellung.timeline import ImportOptions

        evidence = evidence_of_logs([_file(folder, name, content)], ImportOptions())
        diagnosis = recognise(evidence.timeline.splits)
        if scored:  # takes a second
            diagnosis.score(evidence, diagnosis.Settings())

    return read


def _mapping(content: bytes, folder: Path) -> None:
    from einstellung.timeline import ImportOptions
    from einstellung.timeline.importing.options import read_mapping

    read_mapping(_file(folder, "map.yaml", content), ImportOptions())


def _rules(name: str) -> Callable[[bytes, Path], None]:
    def read(content: bytes, folder: Path) -> None:
        from einstellung.scenes.rules import read_rules

        read_rules(_file(folder, name, content))

    return read


def _records(content: bytes, folder: Path) -> None:
    from einstellung.scenes.records import read_records, scenes_from_records

    path = _file(folder, "scenes.jsonl", content)
    found = read_records(path)
    scenes_from_records(list(found)[:8], found, path)


def _source_table(content: bytes, folder: Path) -> None:
    from einstellung.composites.source_folders import INDEX, read_folder

    _file(folder, INDEX, content)
    read_folder(folder)


def _picture_table(content: bytes, folder: Path) -> None:
    from einstellung.sources.picture_table import read_picture_table

    _file(folder, "labels.csv", content)
    read_picture_table(folder, "labels.csv")


def _label_table(content: bytes, folder: Path) -> None:
    from einstellung.classifiers.labelled import from_table

    from_table(folder, _file(folder, "labels.csv", content))


def _picture(content: bytes, folder: Path) -> None:
    from einstellung.classifiers.labelled import open_picture

    open_picture(_file(folder, "a.png", content))


def _weights(content: bytes, folder: Path) -> None:
    from einstellung.backbones.weights import read_weights
    from einstellung.classifiers.weights_file import read_weights_file
    from einstellung.errors import InputError

    path = _file(folder, "a.safetensors", content)
    try:
        read_weights(str(path))
    except InputError:
        read_weights_file(path)


def _torch_weights(content: bytes, folder: Path) -> None:
    from einstellung.classifiers.weights_file import read_weights_file

    read_weights_file(_file(folder, "a.pt", content))


def _state(content: bytes, folder: Path) -> None:
    from einstellung.errors import InputError
    from einstellung.perception.storage import load_tensors
    from einstellung.training.checkpoint import load_checkpoint

    path = _file(folder, "a.safetensors", content)
    try:
        load_checkpoint(path)
    except InputError:
        load_tensors(path, "weights of slot attention")


def _arrays(content: bytes, folder: Path) -> None:
    from einstellung.npz import read_npz

    read_npz(_file(folder, "a.npz", content))


def _archive(name: str) -> Callable[[bytes, Path], None]:
    def read(content: bytes, folder: Path) -> None:
        from einstellung.sources.published import CIFAR100
        from einstellung.sources.reading import read_files

        read_files(_file(folder, name, content), CIFAR100)

    return read


def _pickle(content: bytes, folder: Path) -> None:
    from einstellung.sources.unpickling import read_pickle

    read_pickle(content, "a pickle")


def _predictions(content: bytes, folder: Path) -> None:
    from einstellung.gating.predictions import read_predictions_file

    read_predictions_file(_file(folder, "a.csv", content))


def _json(content: bytes, folder: Path) -> None:
    from einstellung.hashes import read_sealed

    read_sealed(_file(folder, "status.json", content))


def _audit(content: bytes, folder: Path) -> None:
    from einstellung.results.audit_files import AUDIT_FILE, read_audit

    _file(folder, AUDIT_FILE, content)
    read_audit(folder)


def _card(content: bytes, folder: Path) -> None:
    from einstellung.diagnoses.stored import card_from_json
    from einstellung.files import read_json

    value = read_json(_file(folder, "score.json", content))
    if isinstance(value, dict):
        card_from_json(value)


def _yaml_seeds() -> list[bytes]:
    import yaml

    family = {**SMALL, "studies": {"a": {"seeds": [1]}, "b": {"cue": {"size": 2}}}}
    shared = "base: &b {size: 4}\ncue: *b\nseeds: [1, 2]\n"
    return [yaml.safe_dump(SMALL).encode(), yaml.safe_dump(family).encode(), shared.encode()]


def _tar(kind: str) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in ("train", "test", "meta"):
            entry = tarfile.TarInfo(f"cifar-100-python/{name}")
            entry.size = 500
            archive.addfile(entry, io.BytesIO(b"x" * 500))
    packed = {"gz": lambda: gzip.compress(stream.getvalue(), mtime=0), "xz": lambda: lzma.compress(stream.getvalue())}
    return packed[kind]()


def _tensors() -> bytes:
    from safetensors.numpy import save

    return save({"head.weight": np.zeros((2, 3), dtype=np.float32), "head.bias": np.zeros(2, dtype=np.float32)})


def _torch_file() -> bytes:
    import torch

    stream = io.BytesIO()
    torch.save({"head.weight": torch.zeros(2, 3), "head.bias": torch.zeros(2)}, stream)
    return stream.getvalue()


def _checkpoint() -> bytes:
    import torch

    from einstellung.training.checkpoint import state_bytes

    return state_bytes({"seen": (1, 2), "buffer": {"labels": torch.arange(2)}})


def _npz() -> bytes:
    return hostile.npz(
        {"a.npy": hostile.npy(np.zeros((2, 4, 4, 3), dtype=np.uint8)), "b.npy": hostile.npy(np.arange(9.0))}
    )


def _png() -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(stream, "PNG")
    return stream.getvalue()


def _jpeg() -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(stream, "JPEG")
    return stream.getvalue()


def _rows() -> bytes:
    return "\n".join(timeline().splitlines()[:9]).encode()


def _json_rows() -> bytes:
    head, *rows = timeline().splitlines()[:5]
    return json.dumps([dict(zip(head.split(","), row.split(","), strict=True)) for row in rows]).encode()


def _groups() -> bytes:
    rows = [f"erm,1,T1,{e},group_{c}_{p},0.{e}" for e in (1, 2) for c in (0, 1) for p in ("11", "10", "01", "00")]
    return ("method,seed,phase,epoch,split,acc\n" + "\n".join(rows)).encode()


def _events() -> bytes:
    """Two records of an event file, with the sums that guard them left as zeros."""
    return b"".join(
        len(body).to_bytes(8, "little") + b"\0" * 4 + body + b"\0" * 4
        for body in (b"\x1a\x0dbrain.Event:2", b"\x10\x01")
    )


_RULES = {
    "ground_truth": [{"shape": "sphere"}, {"shape": "cube", "size": "small"}],
    "confounders": [[{"color": "blue"}], [{"material": "metal"}]],
    "objects": 4,
}
_SCENE = {
    "image": "a.png", "task": 0, "label": 1, "camera": [0.0, 0.0, 0.0], "lamps": [[0.0, 0.0, 0.0]],
    "objects": [{"shape": "cube", "size": "small", "material": "metal", "color": "blue", "x": 0.5, "y": 0.5, "turn": 1.0}],
}  # fmt: skip
_PICTURES = b"file,label,phase,split\na.png,ant,T1,train\nb.png,bee,T2,test\n"
_CARD = {"diagnosis": "rigidity", "schema": 1, "methods": {"sgd": {"AD": {"mean": 1.0}}}, "baseline": "scratch_t2"}

READERS: dict[str, Reader] = {
    "configuration": Reader(_configuration, _yaml_seeds, text=True),
    "assignment": Reader(_assignment, lambda: [b"training.lr=0.1", b"[1, 2],{a: 1}", b"seeds=[1, 2]"], text=True),
    "sweep.yaml": Reader(
        _sweep, lambda: [b"key: cue.size\nvalues: [2, 4]\n", b"sweeps: [{key: cue.size, values: [1, 2]}]\n"], text=True),
    "family.yaml": Reader(_family, lambda: [b"studies: [a, b]\n"], text=True),
    "timeline, CSV": Reader(_logs("timeline.csv"), lambda: [_rows(), _groups()], text=True),
    "scores": Reader(_logs("timeline.csv", scored=True), lambda: [_rows(), _groups()], text=True),
    "timeline, JSON": Reader(_logs("timeline.json"), lambda: [_json_rows()], text=True),
    "timeline, packed": Reader(_logs("timeline.csv.xz"), lambda: [lzma.compress(_rows()), gzip.compress(_rows(), mtime=0)]),
    "TensorBoard": Reader(_logs("events.out.tfevents.1"), lambda: [_events()]),
    "W&B": Reader(_logs("run-a.wandb"), lambda: [b":W&B\xbc\xe8\x00" + b"\0" * 20]),
    "mapping": Reader(_mapping, lambda: [b"map: {accuracy: acc}\nwide: true\nseed: 1\n"], text=True),
    "rules, JSON": Reader(_rules("a.json"), lambda: [json.dumps(_RULES).encode()], text=True),
    "rules, YAML": Reader(_rules("a.yaml"), lambda: [json.dumps(_RULES).encode()], text=True),
    "scenes": Reader(_records, lambda: [json.dumps(_SCENE).encode() + b"\n"], text=True),
    "layout, sources": Reader(_source_table, lambda: [b"file,kind,label,split\na.png,target,urban,train\n"], text=True),
    "layout, pictures": Reader(_picture_table, lambda: [_PICTURES], text=True),
    "layout, labels": Reader(_label_table, lambda: [b"file,label,name\na.png,3,ant\n"], text=True),
    "pictures": Reader(_picture, lambda: [_png(), _jpeg()]),
    "weights, safetensors": Reader(_weights, lambda: [_tensors()]),
    "weights, torch": Reader(_torch_weights, lambda: [_torch_file()]),
    "checkpoints": Reader(_state, lambda: [_checkpoint()]),
    "arrays": Reader(_arrays, lambda: [_npz()]),
    "archives, gzip": Reader(_archive("cifar-100-python.tar.gz"), lambda: [_tar("gz")]),
    "archives, xz": Reader(_archive("cifar-100-python.tar.xz"), lambda: [_tar("xz")]),
    "archives, zip": Reader(_archive("cifar-100-python.zip"), lambda: [hostile.npz({"cifar-100-python/train": b"x" * 500})]),
    "pickles": Reader(_pickle, lambda: [b"\x80\x02}U\x01aK\x07s."]),
    "predictions": Reader(_predictions, lambda: [predictions(1)[:600].encode()], text=True),
    "records": Reader(_json, lambda: [b'{"state": "finished", "key": "abc", "files": {"a.csv": {"bytes": 3}}}'], text=True),
    "audit.json": Reader(_audit, lambda: [b'{"format": 1, "models": []}'], text=True),
    "cards": Reader(_card, lambda: [json.dumps(_CARD).encode()], text=True),
}  # fmt: skip
