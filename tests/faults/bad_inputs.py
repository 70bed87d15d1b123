"""Bad inputs over every verb: a table of verbs and places, and the bad values of each kind of place."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from einstellung.boundary import MOST_CHARACTERS
from tests.faults import hostile
from tests.faults.commands import MOST_BYTES, MOST_SECONDS, CommandServer, Done
from tests.faults.material import Material

MOST_LINES = 25
REFUSED = frozenset({2})
DONE = frozenset({0})
EITHER = frozenset({0, 2})  # whether it is an error is a matter of taste; what counts is that it is answered


@dataclass(frozen=True)
class Case:
    """One bad input: a command, its exit codes, and what must not appear."""

    name: str
    words: tuple[str | Path, ...]
    codes: frozenset[int] = REFUSED
    cwd: Path | None = None
    entry: str = "cli"
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], object] = lambda: None

    @property
    def verb(self) -> str:
        return self.name.partition(":")[0]


def verdict(case: Case, done: Done, left: Sequence[str]) -> list[str]:
    """What is wrong with the answer; nothing if it is as promised. ``left``: files that a refused command left behind."""
    problems = []
    if done.ended:
        problems.append(done.ended)
    elif done.code not in case.codes:
        problems.append(f"exit code {done.code} instead of {' or '.join(map(str, sorted(case.codes)))}")
    if done.has_traceback:
        problems.append("a traceback")
    lines = [line for line in re.split(r"[\r\n]", done.err) if line.strip()]
    if done.code == 2:
        if not any(": " in line for line in [*lines, *done.out.splitlines()]):
            problems.append("no line says why")
        if long := [line for line in lines if len(line) > MOST_CHARACTERS]:
            problems.append(f"a line of {max(map(len, long))} characters")
        if len(lines) > MOST_LINES:
            problems.append(f"{len(lines)} lines")
        if left:
            problems.append(f"left behind: {', '.join(left[:3])}")
    if re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.err + done.out):
        problems.append("characters that steer the terminal")
    if hostile.MARK in left or hostile.MARK in done.out:
        problems.append("code was executed")
    if done.cpu > MOST_SECONDS and not done.ended:
        problems.append(f"{done.cpu:.0f} s of computing")
    if done.peak > MOST_BYTES:
        problems.append(f"{done.peak / 2**30:.1f} GB")
    return problems


def run_case(server: CommandServer, case: Case, scratch: Path) -> list[str]:
    """Run a case in an empty folder (or the one that it prepared) and judge it."""
    case.prepare()
    cwd = case.cwd or scratch
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    before = _listing(cwd)
    done = server.run(case.words, cwd, case.environment, case.entry)
    left = sorted(_listing(cwd) - before)
    problems = verdict(case, done, left)
    last = next(reversed([line for line in done.err.splitlines() if line.strip()]), "")
    return [*problems, f"it said: {last[:200]}"] if problems else []


def _listing(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if name != ".lock"}


def all_cases(material: Material, root: Path) -> Iterator[Case]:
    """Every case; ``root`` is a folder for their files."""
    yield from light_cases(material, root)
    yield from _arrays_and_weights(material, root)
    yield from _data(material, root)


def light_cases(material: Material, root: Path) -> Iterator[Case]:
    """All but those with archives and weights, which take long to make."""
    bad = _BadPaths(root / "paths")
    yield from _yaml_files(material, root)
    yield from _yaml_values(material)
    yield from _settings(material)
    yield from _paths(material, bad)
    yield from _launchers(material, bad)
    yield from _numbers(material)
    yield from _words(material)
    yield from _tables(material, root)
    yield from _stored(material, root)
    yield from _models(material, root)


# ---------------------------------------------------------------- YAML


def _yaml_files(material: Material, root: Path) -> Iterator[Case]:
    files = hostile.make_files(root / "yaml", hostile.YAML)
    for name, file in files.items():
        given = file.rename(file.with_suffix(".yaml"))
        # a key that nobody knows, a value of another type or a lone name is refused, too: every file here is wrong
        yield Case(f"run: {name}", ("run", given, "--dry-run"))
        yield Case(f"score: --mapping, {name}", ("score", material.log, "--mapping", given))
        yield Case(f"concon logic: {name}", ("concon", "logic", given))
    for name in (
        "alias bomb",
        "500 deep in brackets",
        "self-reference",
        "a key twice",
        "invalid date",
        "timestamp tag",
    ):
        given = files[name].with_suffix(".yaml")
        yield Case(f"validate: {name}", ("validate", given))
        yield Case(f"concon audit: --rules, {name}", ("concon", "audit", material.root / "none", "--rules", given))
        yield Case(
            f"concon make: --rules, {name}", ("concon", "make", "--rules", given, "--out", "out", "--train", "4")
        )


def _yaml_values(material: Material) -> Iterator[Case]:
    for name, value in hostile.YAML_VALUES.items():
        for key in ("training.lr", "seeds"):
            yield Case(f"run: --set {key}, {name}", ("run", material.config, "--dry-run", "--set", f"{key}={value}"))
        yield Case(f"run: --sweep, {name}", ("run", material.config, "--dry-run", "--sweep", f"cue.size={value},4"))
        yield Case(f"score: --set, {name}", ("score", material.log, "--set", f"tau={value}"))
        yield Case(f"guide: --set, {name}", ("--set", f"seeds={value}"), entry="guide")


_KEYS = (
    "stream.size",
    "stream.train_per_class",
    "stream.test_per_class",
    "stream.validation",
    "stream.noise",
    "cue.size",
    "cue.share",
    "cue.place",
    "backbone.width",
    "training.epochs",
    "training.batch_size",
    "training.lr",
    "training.momentum",
    "training.weight_decay",
    "training.milestones",
    "evaluation.batch_size",
    "learners.ewc_on.e_lambda",
    "learners.ewc_on.gamma",
    "learners.ewc_on.fisher_images",
    "seeds",
    "methods",
    "stream",
    "plugins",
    "name",
)
_ALWAYS_WRONG = ("-1", ".nan", ".inf", "[[]]", "{a: 1}", "x" * 5000, "1" + "0" * 300)
_ANY_NUMBER = (
    "training.lr",
    "training.weight_decay",
    "stream.noise",
    "learners.ewc_on.e_lambda",
    "learners.ewc_on.gamma",
)
_HUGE = ("1000000000000",)


def _settings(material: Material) -> Iterator[Case]:
    for key in _KEYS:
        for value in _ALWAYS_WRONG:
            free = key == "name" and value in ("-1", "[[]]")
            free = free or (key in _ANY_NUMBER and value.isdigit())  # absurd, and a number all the same
            yield Case(
                f"run: {key}={value[:20]}",
                ("run", material.config, "--dry-run", "--set", f"{key}={value}"),
                EITHER if free else REFUSED,
            )
        for value in _HUGE:
            words = ("--set", f"{key}={value}")
            yield Case(f"run: {key}={value}, dry", ("run", material.config, "--dry-run", *words), EITHER)
            yield Case(f"validate: {key}={value}", ("validate", material.config, *words), EITHER)
    most = ("--dry-run", "--set", "training.kernels=torch", "--set")
    yield Case("run: training.epochs=1000000", ("run", material.config, *most, "training.epochs=1000000"), DONE)
    yield Case("run: training.epochs=1000001", ("run", material.config, *most, "training.epochs=1000001"))
    for value in ("0.99", "0.999999", "0", "1", "-0.5"):
        yield Case(
            f"validate: stream.validation={value}", ("validate", material.config, "--set", f"stream.validation={value}")
        )
    for value in ("3000", "100000"):
        yield Case(
            f"validate: stream.size={value}", ("validate", material.config, "--set", f"stream.size={value}"), EITHER
        )


# ---------------------------------------------------------------- paths


class _BadPaths:
    """Paths that lead nowhere."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.file = root / "file"
        self.file.write_text("hello")
        self.folder = root / "folder"
        self.folder.mkdir(exist_ok=True)
        self.pipe = root / "pipe.csv"
        if not self.pipe.exists():
            os.mkfifo(self.pipe)
        self.link = root / "link"
        if not self.link.is_symlink():
            self.link.symlink_to("link")

    def unusable(self) -> dict[str, str]:
        """For reading and for writing."""
        return {
            "empty": "",
            "blank": "  ",
            "a name of 300 characters": "n" * 300,
            "a path of 5,000 characters": "n/" * 2500,
            "900 deep": "n/" * 900,
            "2,000 deep": "n/" * 2000,
            "a link to itself": str(self.link),
            "below a link to itself": str(self.link / "x"),
            "below a file": str(self.file / "x"),
        }

    def unreadable(self) -> dict[str, str]:
        return {
            **self.unusable(),
            "missing": "no-such-thing",
            "a surrogate": "no-\udcff-such",
            "a line break": "no\nsuch",
            "escape characters": "no\x1b[31m\u202esuch",
            "a pipe": str(self.pipe),
            "/dev/zero": "/dev/zero",
            "/dev/null": "/dev/null",
        }

    def unwritable(self) -> dict[str, str]:
        return {**self.unusable(), "/dev/full": "/dev/full", "below /proc": "/proc/none/x", "a file": str(self.file)}


def _paths(material: Material, bad: _BadPaths) -> Iterator[Case]:
    net = f"{material.model}:net"
    gate = ("gate", "--before", material.predictions("before"), "--after", material.predictions("after"))
    reading: dict[str, Callable[[str], Sequence[str | Path]]] = {
        "run": lambda path: ("run", path, "--dry-run"),
        "run: --data": lambda path: ("run", "--preset", "plain-sgd", "--data", path, "--out", "out"),
        "validate": lambda path: ("validate", path),
        "report": lambda path: ("report", path),
        "score": lambda path: ("score", path),
        "score: --mapping": lambda path: ("score", material.log, "--mapping", path),
        "score: --plugin": lambda path: ("score", material.log, "--plugin", path),
        "import": lambda path: ("import", path, "--dry-run"),
        "audit": lambda path: ("audit", path),
        "audit: --model": lambda path: ("audit", "--model", path, "--data", material.pictures),
        "audit: --data": lambda path: ("audit", "--model", net, "--data", path),
        "audit: --labels": lambda path: ("audit", "--model", net, "--data", material.pictures, "--labels", path),
        "gate: --before": lambda path: ("gate", "--before", path, "--after", material.predictions("after")),
        "gate: --data": lambda path: ("gate", "--before", net, "--after", net, "--data", path, "--box", "0,0,4,4"),
        "probe nets": lambda path: ("probe", "nets", path),
        "probe watermark": lambda path: ("probe", "watermark", "--model", net, "--images", path),
        "probe shifts": lambda path: ("probe", "shifts", "--model", net, "--in9", path),
        "probe last-layer": lambda path: ("probe", "last-layer", "--model", net, "--train", path, "--test", path),
        "data check": lambda path: ("data", "check", "--data", path),
        "concon logic": lambda path: ("concon", "logic", path),
        "concon audit": lambda path: ("concon", "audit", path),
        "concon make: --rules": lambda path: ("concon", "make", "--rules", path, "--out", "out", "--train", "4"),
        "data composites make: --data": lambda path: (
            *("data", "composites", "make", "--data", path, "--out", "out"),
            *("--train", "4", "--val", "4", "--test", "4", "--size", "16"),
        ),
        "data composites make: --sources": lambda path: (
            "data",
            "composites",
            "make",
            "--sources",
            path,
            "--out",
            "out",
        ),
        "view": lambda path: ("view", path),
    }
    for verb, words in reading.items():
        for name, path in bad.unreadable().items():
            yield Case(f"{verb}: {name}", tuple(words(path)))
    writing: dict[str, Callable[[str], Sequence[str | Path]]] = {
        "run: --out": lambda path: ("run", material.config, "--out", path, "--workers", "1"),
        "score: --out": lambda path: ("score", material.log, "--out", path),
        "import: --out": lambda path: ("import", material.log, "--out", path + ("" if path in ("", "  ") else ".csv")),
        "gate: --out": lambda path: (*gate, "--out", path),
        "gate: --markdown": lambda path: (*gate, "--markdown", path),
        "gate: --junit": lambda path: (*gate, "--junit", path),
        "probe nets: --out": lambda path: ("probe", "nets", material.study, "--out", path),
        "data get: --to": lambda path: ("data", "get", "cifar100", "--url", "http://127.0.0.1:9/x", "--to", path),
        "data composites make: --out": lambda path: (
            *("data", "composites", "make", "--out", path),
            *("--train", "4", "--val", "4", "--test", "4", "--size", "16"),
        ),
        "concon make: --out": lambda path: (
            "concon",
            "make",
            "--out",
            path,
            "--train",
            "4",
            "--val",
            "2",
            "--test",
            "2",
        ),
        "concon perceive: --out": lambda path: (
            *("concon", "perceive", "--out", path, "--scenes", "4", "--held-out", "2"),
            *("--size", "16", "--epochs", "1"),
        ),
    }
    for verb, words in writing.items():
        for name, path in bad.unwritable().items():
            if verb == "import: --out" and name in ("a file", "a link to itself", "/dev/full"):
                continue  # with its ending it would be a new file beside it
            if verb.endswith(("markdown", "junit", "perceive: --out")) and name in ("a file", "/dev/full"):
                continue  # a file may be written over
            yield Case(f"{verb}: {name}", tuple(words(path)))
    for name, path in bad.unwritable().items():
        yield Case(
            f"guide: --results_root, {name}", ("--debug", "--results_root", path, "--skip_training"), entry="guide"
        )


def _launchers(material: Material, bad: _BadPaths) -> Iterator[Case]:
    """The demo, and options of launchers; nothing is started."""
    run = ("run", material.config, "--dry-run")
    slurm = (*run, "--launcher", "slurm")
    for name, path in bad.unwritable().items():
        yield Case(f"demo: --out, {name}", ("demo", "--out", path))
    for value in hostile.NUMBERS:
        yield Case(f"demo --workers: {value[:20]!r}", ("demo", "--out", "out", "--workers", value))
        for flag in ("--slurm-time", "--slurm-memory", "--slurm-gpus"):
            yield Case(f"run {flag}: {value[:20]!r}", (*slurm, flag, value))
        for key in ("time", "memory", "gpus", "retries"):
            words = ("--set", f"launcher.{key}={value}")
            codes = EITHER if key != "memory" and value.isdigit() else REFUSED
            yield Case(f"run: launcher.{key}={value[:20]!r}", (*slurm, *words), codes)
    for words in (
        ("--ray-address", "auto"),
        ("--ray-results", "driver"),
        ("--slurm-time", "9"),
        ("--launcher", "slurm", "--ray-address", "auto"),
        ("--launcher", "ray", "--slurm-partition", "gpu"),
        ("--launcher", "slurm", "--ray-results", "nowhere"),
        ("--launcher", "none"),
        ("--launcher", ""),
        ("--set", "launcher=5"),
        ("--set", "launcher=[slurm]"),
        ("--set", "launcher={time: 9}"),
        ("--set", "launcher={name: ray, addres: auto}"),
        ("--set", "launcher={name: slurm, partition: [a]}"),
        ("--set", "launcher={name: slurm, partition: {a: 1}}"),
    ):
        yield Case(f"run: {' '.join(words)}", (*run, *words), EITHER if "{time" in words[-1] else REFUSED)
        if words[0] != "--set":
            yield Case(f"demo: {' '.join(words)}", ("demo", "--out", "out", *words))
    for address in ("x" * 5000, "\x1b[31m", "no port", "a:99999999", "\n"):
        # whether the package is installed or not
        yield Case(f"demo: --ray-address, {address[:10]!r}", ("demo", "--out", "out", "--ray-address", address))


# ---------------------------------------------------------------- numbers and names


def _numbers(material: Material) -> Iterator[Case]:
    net = f"{material.model}:net"
    gate = ("gate", "--before", material.predictions("before"), "--after", material.predictions("after"))
    perceive = ("concon", "perceive", "--out", "w.safetensors", "--scenes", "4", "--held-out", "2", "--size", "16")
    compose = ("data", "composites", "make", "--out", "out", "--train", "4", "--val", "4", "--test", "4")
    places: dict[str, Sequence[str | Path]] = {
        "run --seeds": ("run", material.config, "--dry-run", "--seeds"),
        "run --workers": ("run", material.config, "--dry-run", "--workers"),
        "score --seed": ("score", material.log, "--seed"),
        "score --epoch": ("score", material.log, "--epoch"),
        "score --steps-per-epoch": ("score", material.log, "--steps-per-epoch"),
        "score --tau": ("score", material.log, "--tau"),
        "score --window": ("score", material.log, "--window"),
        "score --margins": ("score", material.log, "--margins"),
        "score --tau-grid": ("score", material.log, "--tau-grid"),
        "gate --max-delta": (*gate, "--max-delta"),
        "gate --max-flips": (*gate, "--max-flips"),
        "audit --budget": ("audit", "--model", net, "--data", material.pictures, "--budget"),
        "audit --images": ("audit", "--model", net, "--data", material.pictures, "--images"),
        "audit --threads": ("audit", "--model", net, "--data", material.pictures, "--threads"),
        "concon perceive --lr": (*perceive, "--lr"),
        "concon perceive --epochs": (*perceive, "--epochs"),
        "concon make --workers": ("concon", "make", "--out", "out", "--train", "4", "--workers"),
        "data composites make --correlations": (*compose, "--correlations"),
        "data composites make --seed": (*compose, "--seed"),
        "view --port": ("view", material.root, "--port"),
        "probe watermark --class": ("probe", "watermark", "--model", net, "--images", material.pictures, "--class"),
    }
    for place, words in places.items():
        for value in hostile.NUMBERS:
            yield Case(f"{place}: {value[:20]!r}", (*words, value))
    for value in hostile.NUMBERS:
        yield Case(f"guide --epochs: {value[:20]!r}", ("--debug", "--epochs", value), entry="guide")
        yield Case(f"guide --seed: {value[:20]!r}", ("--debug", "--seed", value), entry="guide")


def _words(material: Material) -> Iterator[Case]:
    names = {
        "unknown": "no-such-name",
        "of 100,000 characters": "n" * 100_000,
        "with escape characters": "\x1b[31mred\u202e",
        "with a surrogate": "a\udcffb",
        "with a line break": "a\nb",
        "with a path": "../../etc",
    }
    places: dict[str, Sequence[str | Path]] = {
        "run --methods": ("run", material.config, "--dry-run", "--methods"),
        "run --preset": ("run", "--dry-run", "--preset"),
        "run --launcher": ("run", material.config, "--dry-run", "--launcher"),
        "run --only": ("run", material.config, "--dry-run", "--only"),
        "run --set": ("run", material.config, "--dry-run", "--set"),
        "score --as": ("score", material.log, "--as"),
        "score --methods": ("score", material.log, "--methods"),
        "score --map": ("score", material.log, "--map"),
        "score --format": ("score", material.log, "--format"),
        "gate --method": ("gate", "--before", material.root, "--after", material.root, "--method"),
        "audit --backbone": ("audit", "--model", material.log, "--data", material.pictures, "--backbone"),
        "probe nets --probes": ("probe", "nets", material.study, "--probes"),
        "ls": ("ls",),
        "data check": ("data", "check"),
        "concon make --variant": ("concon", "make", "--out", "out", "--variant"),
        "": (),
        "view --host": ("view", material.root, "--host"),
        "data get --url": ("data", "get", "cifar100", "--to", "to", "--url"),
    }
    for place, words in places.items():
        for name, value in names.items():
            yield Case(f"{place or 'verb'}: a name {name}", (*words, value))
    for name, value in names.items():
        yield Case(f"guide --model: a name {name}", ("--debug", "--model", value), entry="guide")
        yield Case(f"guide --backbone: a name {name}", ("--debug", "--backbone", value), entry="guide")
        yield Case(f"guide: a flag {name}", ("--" + value,), entry="guide")
    yield Case("guide: --output_dir", ("--output_dir", "x"), entry="guide")


# ---------------------------------------------------------------- files


def _tables(material: Material, root: Path) -> Iterator[Case]:
    for number, (name, (file, content)) in enumerate(hostile.tables().items()):
        folder = root / "tables" / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
        codes = (
            EITHER
            if name
            in ("9,999 columns", "epoch of 1e300", "gzip of nothing", "a cell of 1 MB", "a long number in a group")
            else REFUSED
        )
        yield Case(f"score: {name}", ("score", folder / file), codes)
        yield Case(f"import: {name}", ("import", folder / file, "--dry-run"), EITHER)
        yield Case(f"gate: {name}", ("gate", "--before", folder / file, "--after", folder / file))


def _copy(study: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(study, to)
    return to


def _reported(folder: Path) -> Sequence[str | Path]:
    return ("report", folder)


def _stored(material: Material, root: Path) -> Iterator[Case]:
    """Files of a results folder, replaced by others."""
    number = 0

    def changed(
        change: Callable[[Path], object], name: str, words: Callable[[Path], Sequence[str | Path]] = _reported
    ) -> Case:
        nonlocal number
        number += 1
        folder = root / "stored" / str(number)
        return Case(name, tuple(words(folder)), EITHER, prepare=lambda: change(_copy(material.study, folder)))

    def replaced(
        file: str | Path,
        content: bytes,
        name: str,
        words: Callable[[Path], Sequence[str | Path]] = _reported,
    ) -> Case:
        return changed(lambda to: (to / file).write_bytes(content), name, words)

    for name, content in hostile.YAML.items():
        yield replaced("config.yaml", content, f"report: config.yaml, {name}")
    for kind, key in (("sweep", "values"), ("family", "studies")):
        for name in (
            "alias bomb",
            "500 deep in brackets",
            "self-reference",
            "invalid date",
            "a key twice",
            "python tag",
            "a list",
        ):
            folder = root / "stored" / f"{kind}-{name.replace(' ', '-')}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{kind}.yaml").write_bytes(hostile.YAML[name])
            yield Case(f"report: {kind}.yaml, {name}", ("report", folder))
        outside = root / "stored" / f"{kind}-outside"
        outside.mkdir(parents=True, exist_ok=True)
        (outside / f"{kind}.yaml").write_text(
            f"key: cue.size\n{key}: [{material.study.name}, ../{material.study.name}]\n"
        )
        yield Case(f"report: {kind}.yaml names folders outside", ("report", outside))
    json_values = {
        "a list": "[1]",
        "a number": "5",
        "null": "null",
        "text": '"x"',
        "other types": '{"stream": 5, "checks": 7, "facts": [1], "phases": "x", "holds": "y", "key": [1], "files": 3}',
        "cut": '{"a": ',
        "10,000 deep": "[" * 10_000,
        "5,000 digits": "9" * 5000,
        "not UTF-8": b"\xff\xfe",
    }
    for file in ("proof.json", "provenance.json", "runs/sgd-seed1/status.json", "runs/sgd-seed1/facts.json"):
        if not (material.study / file).exists():
            continue
        for name, value in json_values.items():
            content = value if isinstance(value, bytes) else value.encode()
            yield replaced(file, content, f"report: {file}, {name}")
    names = ["predictions.csv", "timeline.csv", "samples.npz"]
    files = [one.relative_to(material.study) for name in names for one in sorted(material.study.rglob(name))[:1]]
    for relative in files:

        def folder_instead(to: Path, relative: Path = relative) -> None:
            (to / relative).unlink()
            (to / relative).mkdir()

        def pipe_instead(to: Path, relative: Path = relative) -> None:
            (to / relative).unlink()
            os.mkfifo(to / relative)

        def link_instead(to: Path, relative: Path = relative) -> None:
            (to / relative).unlink()
            (to / relative).symlink_to(relative.name)

        for name, change in (
            ("a folder", folder_instead),
            ("a pipe", pipe_instead),
            ("a link to itself", link_instead),
        ):
            yield changed(change, f"report: {relative} is {name}")
        for name, content in (("empty", b""), ("binary", bytes(range(256)) * 50), ("not UTF-8", b"a,b\n\xff,\xfe\n")):
            yield replaced(relative, content, f"report: {relative} is {name}")
    bomb = hostile.YAML["alias bomb"]
    yield replaced("config.yaml", bomb, "probe nets: config.yaml is an alias bomb", lambda to: ("probe", "nets", to))
    yield replaced("config.yaml", bomb, "audit: config.yaml is an alias bomb", lambda to: ("audit", to))
    again = "run: config.yaml of the folder is an alias bomb"
    yield replaced("config.yaml", bomb, again, lambda to: ("run", material.config, "--out", to))


def _arrays_and_weights(material: Material, root: Path) -> Iterator[Case]:
    for number, (name, content) in enumerate(hostile.arrays().items()):
        folder = _copy(material.study, root / "arrays" / str(number))
        (folder / "samples.npz").write_bytes(content)
        (folder / "runs/sgd-seed1/pictures.npz").write_bytes(content)
        yield Case(f"report: samples.npz and pictures.npz, {name}", ("report", folder), EITHER)
    for number, (name, content) in enumerate(hostile.weights().items()):
        file = root / "weights" / f"{number}.pt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        other = file.with_suffix(".safetensors")
        other.write_bytes(content)
        for given in (file, other):
            options = ("--backbone", "resnet18", "--data", material.pictures, "--size", "12")
            yield Case(f"audit: weights, {name}, {given.suffix}", ("audit", "--model", given, *options))
        yield Case(
            f"validate: backbone.weights, {name}",
            ("validate", material.config, "--set", "backbone=resnet18", "--set", f"backbone.weights={other}"),
        )


def _models(material: Material, root: Path) -> Iterator[Case]:
    sources = {
        "exits with 0": "import sys\ndef net():\n    sys.exit(0)\n",
        "exits when it is imported": "import sys\nsys.exit(0)\n",
        "exits with a message": "def net():\n    raise SystemExit('bye')\n",
        "exits in forward": "import sys, torch\nclass N(torch.nn.Module):\n    def forward(self, x):\n        sys.exit(0)\n"
        "def net():\n    return N(), {'size': 8, 'mean': [0.5]*3, 'std': [0.5]*3}\n",
        "interrupts": "def net():\n    raise KeyboardInterrupt\n",
        "raises": "def net():\n    raise ValueError('no\\nno')\n",
        "raises without a message": "def net():\n    raise ValueError\n",
        "recurses": "def net():\n    return net()\n",
        "does not parse": "def net(:\n",
        "is not UTF-8": b"x = '\xff'\n",
        "holds zero bytes": b"x = 1\x00\n",
        "nests 10,000 brackets": "x = " + "(" * 10_000,
        "has no function": "x = 1\n",
        "returns a number": "def net():\n    return 5\n",
        "takes arguments": "def net(a):\n    return a\n",
        "raises in forward": "import torch\nclass N(torch.nn.Module):\n"
        "    def forward(self, x):\n        raise AttributeError('no')\n"
        "def net():\n    return N(), {'size': 8, 'mean': [0.5]*3, 'std': [0.5]*3}\n",
        "wants 10^12 pixels": "import torch\n"
        "def net():\n    return torch.nn.Identity(), {'size': 1000000, 'mean': [0.5]*3, 'std': [0.5]*3}\n",
        "wants a size of nan": "import torch\n"
        "def net():\n    return torch.nn.Identity(), {'size': float('nan'), 'mean': [0.5]*3, 'std': [0.5]*3}\n",
    }
    for number, (name, source) in enumerate(sources.items()):
        file = root / "models" / f"m{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(source if isinstance(source, bytes) else source.encode())
        codes = frozenset({130}) if name == "interrupts" else REFUSED  # it is not to be told from Ctrl-C
        yield Case(
            f"audit: a model that {name}", ("audit", "--model", f"{file}:net", "--data", material.pictures), codes
        )
        if number < 8:
            yield Case(
                f"run: a plug-in that {name}",
                ("run", material.config, "--dry-run", "--set", f"plugins=[{file}]"),
                EITHER,
            )
            yield Case(f"score: a plug-in that {name}", ("score", material.log, "--plugin", file), EITHER)


def _data(material: Material, root: Path) -> Iterator[Case]:
    for number, (name, (file, content)) in enumerate(hostile.cifar_archives().items()):
        folder = root / "archives" / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
        yield Case(f"data check: {name}", ("data", "check", "cifar100", "--data", folder))
        yield Case(
            f"run: CIFAR-100, {name}",
            ("run", "--preset", "plain-sgd", "--data", folder, "--out", "out"),
            environment={"EINSTELLUNG_DATA": ""},
        )
    rules = {
        "other types": {"ground_truth": 5, "confounders": "x"},
        "a list": [1, 2],
        "deep": json.loads('{"a":' * 90 + "1" + "}" * 90),
        "nothing": {},
        "numbers": {"ground_truth": {"0": 10**40}},
    }
    for number, (name, value) in enumerate(rules.items()):
        file = root / "rules" / f"{number}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))
        yield Case(f"concon logic: rules of {name}", ("concon", "logic", file))
    scenes = {
        "empty": "",
        "a list": "[]\n",
        "deep": "[" * 50_000,
        "other types": '{"objects": 5}\n',
        "digits": "9" * 5000,
    }
    for number, (name, text) in enumerate(scenes.items()):
        file = root / "scenes" / f"{number}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        yield Case(f"concon audit: scenes, {name}", ("concon", "audit", file))
    pictures = {
        "text": b"hello",
        "a cut PNG": (material.pictures / "0_class0.png").read_bytes()[:60],
        "a bomb": _picture_bomb(),
        "a script": b"%!PS-Adobe-3.0 EPSF-3.0\n(touch " + hostile.MARK.encode() + b") run\n",
    }
    for number, (name, content) in enumerate(pictures.items()):
        folder = root / "pictures" / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "0_a.png").write_bytes(content)
        net = f"{material.model}:net"
        yield Case(f"audit: pictures, {name}", ("audit", "--model", net, "--data", folder))
        yield Case(f"probe watermark: pictures, {name}", ("probe", "watermark", "--model", net, "--images", folder))


def _picture_bomb() -> bytes:
    """A PNG that claims 60,000 x 60,000 pixels."""
    import struct
    import zlib

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 1_000_000)) + chunk(b"IEND", b"")
