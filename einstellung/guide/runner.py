"""Scenarios x strategies x seeds as one study: the guide's ``EinstellungExperimentRunner``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from einstellung.arguments import whole_numbers
from einstellung.errors import InputError
from einstellung.experiments.launcher import describe_failures
from einstellung.experiments.machine import Workers
from einstellung.files import read_json
from einstellung.guide.experiment import Checkpoints, Performed, Request, perform
from einstellung.guide.settings import KEYS, SEEDS, STRATEGIES, Log, listed, translated
from einstellung.registry import suggestion
from einstellung.results.config import StudyConfig, build_config, merged

SCENARIOS = ("sequential", "scratch_t2", "interleaved")


@dataclass(frozen=True)
class ExperimentConfig:
    """What a comprehensive experiment covers.

    ``sequential`` trains the strategies on T1 and then T2, ``scratch_t2`` a fresh net on T2 only, ``interleaved`` one on both
    at once. ``epochs`` is per phase (None: as in the preset ``guide``). ``settings`` may hold any key of a configuration, ours or
    the guide's. ``checkpoints``: how finished runs are treated.
    """

    scenarios: tuple[str, ...] = SCENARIOS
    strategies: tuple[str, ...] = STRATEGIES
    seeds: tuple[int, ...] = SEEDS
    backbone: str = "resnet18"
    epochs: int | tuple[int, int] | None = None
    results_root: str | Path = "einstellung_results"
    checkpoints: Checkpoints = "stop"
    workers: Workers | None = None
    settings: Mapping[str, Any] | None = None

    @staticmethod
    def of(given: Any) -> ExperimentConfig:
        """From a mapping, any dataclass with such fields, or nothing; keys of the guide's YAML are accepted too.

        >>> ExperimentConfig.of({"strategies": "sgd,derpp", "seeds": [1, 2], "einstellung_patch_size": 6}).strategies
        ('sgd', 'derpp')
        >>> ExperimentConfig.of({"strategy": "sgd"})
        Traceback (most recent call last):
        einstellung.errors.InputError: unknown key 'strategy' of an experiment: did you mean 'strategies'?
        """
        if isinstance(given, ExperimentConfig):
            return given
        values = (
            {} if given is None else asdict(given) if is_dataclass(given) and not isinstance(given, type) else given
        )
        if not isinstance(values, Mapping):
            raise InputError(f"an experiment is configured by a mapping or a dataclass, not a {type(given).__name__}")
        own = {field.name for field in fields(ExperimentConfig)}
        guide = set(KEYS) - {"model", "seed", "n_epochs"}  # called strategies, seeds and epochs here
        for key in values:
            if key not in own and key not in guide:
                raise InputError(f"unknown key '{key}' of an experiment: {suggestion(str(key), [*own, *guide])}")
        members = {key: value for key, value in values.items() if key in own}
        more = {key: value for key, value in values.items() if key in guide}
        config = ExperimentConfig(**{**members, "settings": {**(members.get("settings") or {}), **more}})
        return replace(
            config,
            scenarios=tuple(listed("scenarios", config.scenarios)),
            strategies=tuple(listed("strategies", config.strategies)),
            seeds=_seeds(config.seeds),
        )

    @property
    def methods(self) -> tuple[str, ...]:
        """The learners of all scenarios."""
        found: list[str] = []
        for scenario in self.scenarios:
            if scenario not in SCENARIOS:
                raise InputError(f"unknown scenario '{scenario}': {suggestion(scenario, SCENARIOS)}")
            found += self.strategies if scenario == "sequential" else [scenario]
        return tuple(dict.fromkeys(found))

    def study(self, log: Log = lambda line: None) -> StudyConfig:
        """The same as a study configuration."""
        own: dict[str, Any] = {"model": list(self.methods), "backbone": self.backbone, "seeds": list(self.seeds)}
        if self.epochs is not None:
            own["n_epochs"] = self.epochs
        return build_config(translated(merged(own, self.settings or {}), log), "the experiment")


class EinstellungExperimentRunner:
    """Runs a comprehensive experiment and returns its statistics.

    >>> EinstellungExperimentRunner({"strategies": ["sgd", "derpp"], "seeds": [42, 123]}).config.methods
    ('sgd', 'derpp', 'scratch_t2', 'interleaved')
    """

    def __init__(self, config: Any = None, log: Log = lambda line: print(line, file=sys.stderr)) -> None:
        self.config = ExperimentConfig.of(config)
        self.log = log
        self.performed: Performed | None = None

    def run_comprehensive_experiment(self) -> dict[str, Any]:
        """Run every scenario, strategy and seed; returns the content of ``comprehensive_results.json``.

        Per study and method: mean, std, min and max of every metric over seeds, tests paired by seed with Holm's correction,
        bands and claims. A failed run raises an error that names it, after everything else was run and written.
        """
        config = self.config
        request = Request(
            config=config.study(self.log),
            root=Path(config.results_root),
            checkpoints=config.checkpoints,
            workers=config.workers,
            command="EinstellungExperimentRunner.run_comprehensive_experiment()",
        )
        with _script_left_out():
            self.performed = perform(request, self.log)
        lines, code = describe_failures(self.performed.failures)
        if lines:
            raise InputError("; ".join(lines)) if code == 2 else RuntimeError("; ".join(lines))
        results: dict[str, Any] = read_json(self.performed.comprehensive)
        return results


def _seeds(value: Any) -> tuple[int, ...]:
    """One seed, a comma list, or several."""
    if isinstance(value, str):
        return tuple(whole_numbers("seeds", value))
    if isinstance(value, int):
        return (value,)
    if not isinstance(value, Iterable):
        raise InputError(f"seeds is {value!r}: give whole numbers from 0")
    return tuple(value)


@contextmanager
def _script_left_out() -> Iterator[None]:
    """Worker processes import the script that started them: one without ``if __name__`` would start the experiment again.

    They need nothing from it: the user's own learners are given as ``plugins``.
    """
    main = sys.modules["__main__"]
    kept: dict[str, Any] = {name: vars(main)[name] for name in ("__file__", "__spec__") if name in vars(main)}
    vars(main).pop("__file__", None)
    main.__spec__ = None
    try:
        yield
    finally:
        vars(main).update(kept)
