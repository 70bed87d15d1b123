"""Runs jobs as tasks of a Ray cluster (extra ``ray``): of ``address``, or of one on this machine that ends with the command.

A worker or node that dies costs the work since the last checkpoint: the job is started again elsewhere. A job's own error is not
repeated.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

from einstellung.errors import InputError
from einstellung.experiments.launcher import Failure, Launcher, StudyRun, launchers, may_share_process
from einstellung.experiments.machine import default_workers, usable_cores
from einstellung.experiments.plan import Job
from einstellung.experiments.remote import (
    PROCESS_ENVIRONMENT,
    Code,
    RemoteStudy,
    bytes_of,
    files_of,
    folder_contents,
    write_folder,
)
from einstellung.experiments.schedule import JobQueue, in_order, most_at_once
from einstellung.files import digest
from einstellung.results.config import StudyConfig
from einstellung.visible import visible

_PACKAGE = Path(__file__).parents[2]
_POLL = 0.5  # seconds between two looks at the progress
_REPORTS = 100  # of progress in a second, at most, from all jobs together
_FURTHER = 0.02  # of a job's work: an attempt that came this much further than those before it is no repetition
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray would report statistics to its makers
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",  # of a cluster on this machine: as the workers of the local launcher
}
_OURS = "EINSTELLUNG_"
_OF_A_MACHINE = ("EINSTELLUNG_DATA", "EINSTELLUNG_CACHE")  # paths, which other machines have elsewhere


@launchers.register("ray")
@dataclass(frozen=True)
class RayLauncher(Launcher):
    """Runs jobs as tasks of a Ray cluster."""

    runs_here: ClassVar[bool] = False

    address: str | None = None
    results: Literal["shared", "driver"] | None = None
    data: Literal["nodes", "send"] | None = None
    memory: str | None = None
    gpus: float | None = None
    retries: int = 3
    start_seconds: float = 120.0

    @property
    def is_local(self) -> bool:
        """Whether the cluster is one of this machine, which sees its files and ends with this process."""
        return self.address is None

    @property
    def sends_results(self) -> bool:
        return self.results == "driver" or (self.results is None and not self.is_local)

    @property
    def sends_data(self) -> bool:
        return self.data == "send" or (self.data is None and not self.is_local)

    def check(self, config: StudyConfig) -> None:
        if find_spec("ray") is None:
            raise InputError("the launcher 'ray' needs Ray: pip install 'einstellung[ray]'")
        if self.address is not None and self.address.startswith("ray://"):
            raise InputError(
                "launcher.address: a ray:// address is not supported; run the command on a node of the cluster with "
                "--ray-address auto"
            )
        if self.memory is not None:
            bytes_of(self.memory, "launcher.memory")
        for name, value in (("gpus", self.gpus or 0), ("retries", self.retries)):
            if value < 0:
                raise InputError(f"launcher.{name} is {value}: give 0 or more")
        if self.sends_results and "mlflow" in config.logging:
            raise InputError(
                "logging: mlflow writes into the results folder while a run trains, and launcher.results is 'driver'; give "
                "launcher.results: shared, or leave mlflow out"
            )

    def at_a_time(self, config: StudyConfig, jobs: Sequence[Job]) -> int:
        return default_workers(config.training.thread_count) if self.is_local else max(1, most_at_once(jobs))

    def warm_up(self, config: StudyConfig) -> None:
        connect(self)
        _require_room(self, config)

    def run(self, jobs: Sequence[Job], study: StudyRun) -> list[Failure]:
        connect(self)
        return _Study(self, jobs, study).run()

    def resources(self, config: StudyConfig, workers: int) -> dict[str, float]:
        """What a job takes. On this machine, ``workers`` jobs fit whatever its cores: they were asked for."""
        threads = config.training.thread_count
        gpus = self.gpus if self.gpus is not None else float(config.training.device.startswith("cuda"))
        cores = min(threads, usable_cores() / workers) if self.is_local else threads
        wanted = {"num_cpus": round(cores, 4), "num_gpus": gpus}
        return wanted if self.memory is None else {**wanted, "memory": bytes_of(self.memory, "launcher.memory")}


def _ray() -> Any:
    """The package, which takes a second to import."""
    import ray

    return ray


def _prepare_import(launcher: RayLauncher) -> None:
    """Set what Ray reads as it is imported; what the user set stays."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    if launcher.is_local and "RAY_AUTH_MODE" not in os.environ and "ray" not in sys.modules:
        # Nobody else may use this cluster's ports. Where Ray is imported already it makes a token of its own, in ~/.ray.
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def connect(launcher: RayLauncher) -> None:
    """Connect this process to the cluster, or start one; a connection that exists already is used as it is."""
    _prepare_import(launcher)
    ray = _ray()
    if ray.is_initialized():
        return
    settings: dict[str, Any] = {
        "address": "local" if launcher.is_local else launcher.address,
        "log_to_driver": False,
        "logging_level": "ERROR",
        "runtime_env": {
            "py_modules": [str(_PACKAGE)],  # kept on every node under a hash of its content
            "excludes": ["**/__pycache__"],
            "env_vars": dict(PROCESS_ENVIRONMENT),
        },
    }
    if launcher.is_local:
        settings |= {"num_cpus": usable_cores(), "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    where = "a cluster on this machine" if launcher.is_local else f"the cluster at {launcher.address}"
    _keep_off_stdout()
    reason = _in_time(lambda: ray.init(**settings), launcher.start_seconds)
    if reason is not None:
        raise InputError(
            f"Ray: {where} did not start or answer ({visible(reason)[:160]}); nothing was run. "
            "Check the address and the cluster, or give it longer by launcher.start_seconds"
        )


def _keep_off_stdout() -> None:
    """Ray has no setting against paragraphs about dead workers on standard output, which is for results; we say it in a line."""
    from ray._private import worker

    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda *_, **__: None


def _in_time(start: Callable[[], Any], seconds: float) -> str | None:
    """Why ``start()`` failed, or None; Ray waits for some things without a limit of its own.

    The thread stays: the system ends the processes of a cluster with the thread that started them.
    """
    reasons: list[str | None] = []
    ended = threading.Event()

    def attempt() -> None:
        try:
            start()
            reasons.append(None)
        except BaseException as error:  # noqa: BLE001 (the caller reports it)
            reasons.append(next(iter(str(error).strip().splitlines()), "") or type(error).__name__)
        ended.set()
        threading.Event().wait()

    threading.Thread(target=attempt, name="ray.init", daemon=True).start()
    return reasons[0] if ended.wait(seconds) else f"no answer within {seconds:g} s"


def _require_room(launcher: RayLauncher, config: StudyConfig) -> None:
    """Refuse what no node can hold: its jobs would wait for ever."""
    ray = _ray()
    wanted = launcher.resources(config, 1)
    names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(all(node.get(names[key], 0) >= amount for key, amount in wanted.items()) for node in nodes):
        needs = ", ".join(f"{names[key]} {amount:g}" for key, amount in wanted.items() if amount)
        raise InputError(
            f"Ray: no node of the cluster has what one job takes ({needs}); nothing was run. Change training.threads, "
            "launcher.memory or launcher.gpus"
        )


@dataclass
class _Life:
    """The attempts at a job: how often in a row its worker died no further than before."""

    job: Job
    attempt: int = 0
    furthest: float = 0.0
    before: float = 0.0
    deaths: int = 0
    announced: bool = False

    def died(self) -> int:
        """Count the death of a worker; an attempt that came further than those before it begins the count again."""
        further = self.furthest > self.before + _FURTHER * self.job.work
        self.deaths = 1 if further else self.deaths + 1
        self.before = max(self.before, self.furthest)
        self.attempt += 1
        return self.deaths


@dataclass
class _Study:
    """One study on the cluster."""

    launcher: RayLauncher
    jobs: Sequence[Job]
    study: StudyRun
    running: dict[Any, _Life] = field(default_factory=dict)
    processors: set[str] = field(default_factory=set)

    def run(self) -> list[Failure]:
        ray = _ray()
        self._describe()
        self.queue = JobQueue(in_order(self.jobs, self.study.workers), self.study.display)
        self.waiting_for = Counter(job.needs for job in self.jobs if job.needs is not None)
        self.first_phases: dict[str, Any] = {}
        self.resources = self.launcher.resources(self.study.config, self.study.workers)
        self.parcel = ray.put(self._parcel())
        self.mailbox = self._start_mailbox()
        try:
            while self.queue or self.running:
                while len(self.running) < self.study.workers and (job := self.queue.take(queued=True)) is not None:
                    self._submit(_Life(job))
                self._show_progress()
                self._collect()
        finally:
            for reference in self.running:
                with suppress(Exception):
                    ray.cancel(reference, force=True)
            with suppress(Exception):
                ray.kill(self.mailbox)
        if len(self.processors) > 1:
            _log(f"Ray: processors differ ({', '.join(sorted(self.processors))}): sums may differ in their last bits")
        return self.queue.failures

    def _describe(self) -> None:
        ray = _ray()
        total = ray.cluster_resources()
        nodes = sum(node["Alive"] for node in ray.nodes())
        where = "sent back and written here" if self.launcher.sends_results else "written by the workers"
        data = "sent once" if self.launcher.sends_data else "read on each node"
        _log(
            f"Ray: {nodes} node{'s' if nodes != 1 else ''}, {total.get('CPU', 0):g} CPUs, {total.get('GPU', 0):g} GPUs; "
            f"results are {where}, data are {data}"
        )

    def _parcel(self) -> Any:
        from einstellung.experiments.ray_worker import Parcel

        ray, study = _ray(), self.study
        remote = RemoteStudy(study.config, study.root.absolute(), study.digests, Code.here())
        provenance = (study.root / "provenance.json").read_bytes()
        local = self.launcher.is_local
        kept = [key for key in os.environ if key.startswith(_OURS) and (local or key not in _OF_A_MACHINE)]
        return Parcel(
            study=remote,
            files={} if local else files_of(study.config),
            stream=[self._sent(study.stream)] if self.launcher.sends_data else [],
            shared=None if self.launcher.sends_results else hashlib.sha256(provenance).hexdigest(),
            environment={key: os.environ[key] for key in kept},
            pause=max(0.4, min(study.workers, ray.cluster_resources().get("CPU", 1)) / _REPORTS),
            name=digest({"root": str(remote.root), "code": remote.code.sources, "digests": dict(study.digests)}),
        )

    def _sent(self, stream: Any) -> Any:
        """The stream in the object store, without what only its proof and the report need."""
        try:
            return _ray().put(replace(stream, checks=(), samples={}))
        except Exception as error:
            raise InputError(
                f"the stream '{stream.name}' cannot be sent to other nodes ({type(error).__name__}: "
                f"{visible(str(error))[:120]}); put the data on each node and give launcher.data: nodes"
            ) from error

    def _start_mailbox(self) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        from einstellung.experiments.ray_worker import Mailbox

        ray = _ray()
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
        return ray.remote(Mailbox).options(num_cpus=0, max_restarts=-1, scheduling_strategy=here).remote()

    def _submit(self, life: _Life) -> None:
        from einstellung.experiments.ray_worker import perform

        ray, job = _ray(), life.job
        # a process of its own for every job of foreign code
        calls = {} if may_share_process(job, self.study.config) else {"max_calls": 1}
        task = ray.remote(max_retries=0, **self.resources, **calls)(perform)
        reference = task.options(name=job.label).remote(
            job, life.attempt, self.parcel, self._first_phase(job), self.mailbox
        )
        self.running[reference] = life

    def _first_phase(self, job: Job) -> list[Any]:
        """The finished first phase that a job needs, read once and sent with its hashes; nothing where nodes see the folder."""
        if job.needs is None or not self.launcher.sends_results:
            return []
        if job.needs not in self.first_phases:
            contents = folder_contents(self.study.root / job.needs)
            hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
            self.first_phases[job.needs] = _ray().put((contents, hashes))
        return [self.first_phases[job.needs]]

    def _show_progress(self) -> None:
        ray = _ray()
        try:
            messages = ray.get(self.mailbox.take.remote(), timeout=5)
        except (ray.exceptions.RayError, TimeoutError):
            return  # its process died, and is started again
        lives = {life.job.folder: life for life in self.running.values()}
        for folder, (attempt, work, where) in messages.items():
            life = lives.get(folder)
            if life is None or attempt != life.attempt:
                continue
            self._announce(life)
            life.furthest = max(life.furthest, work)
            self.study.display.advanced(life.job, work, where)

    def _announce(self, life: _Life) -> None:
        if not life.announced:
            life.announced = True
            self.queue.started(life.job)

    def _collect(self) -> None:
        """Wait a moment for jobs to end, and take what has ended."""
        ray = _ray()
        if not self.running:
            return
        if ray.wait(list(self.running), timeout=_POLL)[0]:
            ready = ray.wait(list(self.running), num_returns=len(self.running), timeout=0)[0]
            for reference in ready:
                self._end(self.running.pop(reference), reference)

    def _end(self, life: _Life, reference: Any) -> None:
        ray, job = _ray(), life.job
        try:
            delivery = ray.get(reference)
        except ray.exceptions.RayTaskError as error:  # raised in our own code, not by the job's
            reason = next(iter(str(error.cause).splitlines()), type(error.cause).__name__)
            self._finish(life, Failure(job, f"{type(error.cause).__name__}: {visible(reason)[:200]}", by_input=False))
            return
        except ray.exceptions.RuntimeEnvSetupError as error:
            self._finish(
                life, Failure(job, f"Ray could not prepare a worker: {visible(str(error))[:200]}", by_input=True)
            )
            return
        except ray.exceptions.RayError as error:
            self._start_again(life, _cause(error))
            return
        failure = delivery.failure
        self.processors |= {delivery.processor} - {""}
        if delivery.contents:
            try:
                write_folder(self.study.root / job.folder, delivery.contents)
            except InputError as error:
                failure = Failure(job, str(error), by_input=True)
        self._finish(life, failure)

    def _start_again(self, life: _Life, cause: str) -> None:
        deaths = life.died()
        if deaths > self.launcher.retries:
            reason = (
                f"{cause} {deaths} times in a row without getting further; see launcher.retries and launcher.memory"
            )
            self._finish(life, Failure(life.job, reason, by_input=False))
            return
        _log(f"{life.job.label}: {cause}; it is started again")
        self._submit(life)

    def _finish(self, life: _Life, failure: Failure | None) -> None:
        self._announce(life)
        needs = life.job.needs
        if needs is not None:
            self.waiting_for[needs] -= 1
            if not self.waiting_for[needs]:
                self.first_phases.pop(needs, None)  # frees it in the object store
        self.queue.finish(life.job, failure)


def _cause(error: Exception) -> str:
    """What happened to a worker, in words."""
    known: Mapping[str, str] = {
        "WorkerCrashedError": "its worker died",
        "LocalRayletDiedError": "its node died",
        "NodeDiedError": "its node died",
        "OutOfMemoryError": "its worker was stopped because its node ran out of memory",
        "ObjectLostError": "its node died before the results were sent",
        "OwnerDiedError": "its node died before the results were sent",
        "ObjectFetchTimedOutError": "its node died before the results were sent",
    }
    return known.get(type(error).__name__, f"its worker was lost ({type(error).__name__})")


def _log(line: str) -> None:
    print(visible(line), file=sys.stderr, flush=True)
