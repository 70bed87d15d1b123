"""What runs inside a Ray cluster: a job in a worker process, and the actor that hands its progress to the driver.

With results on a shared folder a job runs in that folder. Otherwise it runs in a private folder of its node, named by the job's
key: another attempt on that node goes on from the checkpoint there, and the finished folder is sent to the driver.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from einstellung.errors import InputError
from einstellung.experiments.execution import JobRunner
from einstellung.experiments.launcher import Failure
from einstellung.experiments.plan import Job
from einstellung.experiments.remote import (
    RemoteStudy,
    folder_contents,
    prepare_process,
    private_folder,
    received_stream,
    with_files_in,
    write_folder,
)
from einstellung.results.config import StudyConfig
from einstellung.streams import Stream

_PATIENCE = 30.0  # seconds until a shared folder must show what the driver wrote


@dataclass(frozen=True)
class Parcel:
    """A study on its way to the workers; ``stream`` is a list of one reference, which a worker fetches once, or empty.

    ``files``: the user's files by their path at the driver. ``shared``: the hash of the results folder's provenance, by which a
    worker knows the folder; None where results are sent back. ``pause``: seconds between two reports of progress.
    """

    study: RemoteStudy
    files: Mapping[str, bytes]
    stream: list[Any]
    shared: str | None
    environment: Mapping[str, str]
    pause: float
    name: str


@dataclass(frozen=True)
class Delivery:
    """What a job leaves: a failure, or a finished folder, as its contents if results are sent back."""

    failure: Failure | None
    contents: Mapping[str, bytes]
    processor: str


class Mailbox:
    """An actor near the driver that keeps the latest progress of every job."""

    def __init__(self) -> None:
        self._latest: dict[str, tuple[int, float, str]] = {}

    def put(self, folder: str, attempt: int, work: float, where: str) -> None:
        self._latest[folder] = (attempt, work, where)

    def take(self) -> dict[str, tuple[int, float, str]]:
        """What is new since the last call."""
        latest, self._latest = self._latest, {}
        return latest


class Reports:
    """Sends the progress of one attempt at a job, at most once per ``pause`` seconds."""

    def __init__(self, mailbox: Any, job: Job, attempt: int, pause: float) -> None:
        self._mailbox, self._job, self._attempt, self._pause = mailbox, job, attempt, pause
        self._last = float("-inf")

    def __call__(self, work: float, where: str) -> None:
        if time.monotonic() - self._last >= self._pause:
            self._last = time.monotonic()
            with suppress(Exception):  # progress is not worth a job
                self._mailbox.put.remote(self._job.folder, self._attempt, work, where)


def perform(job: Job, attempt: int, parcel: Parcel, first_phase: list[Any], mailbox: Any) -> Delivery:
    """Run one job here. ``first_phase``: a reference to the contents of the first phase that it needs, or empty."""
    import ray
    import torch

    place = f"node {ray.util.get_node_ip_address()}"
    report = Reports(mailbox, job, attempt, parcel.pause)
    report(0.0, "starting")
    os.environ.update(parcel.environment)
    base: Path | None = None
    try:
        prepare_process(parcel.study, place)
        if parcel.shared is None:
            base = scratch_folder(parcel) / job.key
            root = private_folder(private_folder(base) / "study")
            if job.needs is not None:
                contents, hashes = ray.get(first_phase[0])
                require_hashes(contents, hashes)
                write_folder(root / job.needs, contents)
        else:
            root = parcel.study.root
            require_shared(root, parcel.shared, place)
        study = replace(parcel.study, root=root, config=local_config(parcel))
        runner = JobRunner(study.config, root, study.digests, _stream(parcel, study))
    except InputError as error:
        return Delivery(Failure(job, f"{place}: {error}", by_input=True), {}, "")
    failure = runner(job, report)
    sent: dict[str, bytes] = {}
    if base is not None:
        sent = folder_contents(root / job.folder)
        if failure is None:
            shutil.rmtree(base, ignore_errors=True)
        else:
            failure = replace(failure, reason=failure.reason.replace(str(root), str(parcel.study.root)))
    return Delivery(failure, sent, torch.backends.cpu.get_cpu_capability())


_streams: dict[str, Stream] = {}


def _stream(parcel: Parcel, study: RemoteStudy) -> Stream:
    """The stream of a study, built or received once in each process."""
    import ray

    if parcel.name not in _streams:
        _streams.clear()  # of an earlier study
        fetch = (lambda: ray.get(parcel.stream[0])) if parcel.stream else None
        _streams[parcel.name] = received_stream(study, fetch)
    return _streams[parcel.name]


def local_config(parcel: Parcel) -> StudyConfig:
    """The configuration with the user's files as they were sent; as it is where none were."""
    if not parcel.files:
        return parcel.study.config
    return with_files_in(private_folder(scratch_folder(parcel) / "files"), parcel.study.config, parcel.files)


def scratch_folder(parcel: Parcel) -> Path:
    """The folder on this node in which attempts at the jobs of this study find each other's checkpoints."""
    return private_folder(Path(tempfile.gettempdir()) / f"einstellung-{os.getuid()}") / parcel.name


def require_shared(root: Path, provenance: str, place: str) -> None:
    """The results folder must be the driver's own, not another one of the same name."""
    file, until = root / "provenance.json", time.monotonic() + _PATIENCE
    while not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != provenance:
        if time.monotonic() > until:
            raise InputError(
                f"{root} is not the results folder of this study; put it on a folder that all nodes share, or give "
                "launcher.results: driver"
            )
        time.sleep(0.5)  # file systems over a network show changes late


def require_hashes(contents: Mapping[str, bytes], hashes: Mapping[str, str]) -> None:
    """What was sent must be what was read."""
    for name, sha256 in hashes.items():
        if hashlib.sha256(contents[name]).hexdigest() != sha256:
            raise InputError(f"{name} of a first phase was damaged on its way; rerun the command")
