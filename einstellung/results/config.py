"""The configuration of a study: schema, reading, and messages about wrong keys. Does not import torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from einstellung.errors import InputError, ProblemList
from einstellung.registry import suggestion
from einstellung.results.probe_names import known_probes
from einstellung.visible import quoted
from einstellung.yaml_text import parse_yaml, read_yaml

PRESETS = Path(__file__).parent / "presets"
FORMAT: Literal[2] = 2  # of config.yaml and the keys of runs; older results folders have none

Positive = Annotated[int, Field(ge=1, le=10**9)]
Epochs = Annotated[int, Field(ge=1, le=10**6)]  # of a phase: a plan names every one
MethodName = Annotated[str, Field(pattern=r"^\w[\w.+~-]*$", max_length=60)]  # part of a folder's name
Seed = Annotated[int, Field(ge=0, lt=2**53)]  # exact in every number format that it passes through
PlainName = Annotated[str, Field(pattern=r"^\w[\w .+-]*$", max_length=80)]  # names a folder
# section and old key -> new key; a configuration that uses the old one is refused with the new name
_RENAMED_KEYS = {("stream", "shown_size"): "input_size", ("stream", "sees"): "input_modality"}
_A_PATH: dict[str, Any] = {"path": True}  # marks a key whose value is one
_PATHS = (
    ("stream", "path"),
    ("stream", "rules"),
    ("stream", "perception"),
    ("backbone", "weights"),
)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Named(BaseModel):
    """A registered entry by name; the other keys are its options, which are checked against its signature."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class StreamConfig(_Named):
    """A stream by name. ``input_size``: the side to which images and cue are enlarged for the net; null: unchanged."""

    name: str = "shapes"
    input_size: Annotated[int, Field(ge=8)] | None = None


class CueConfig(_Named):
    name: str = "patch"


class BackboneConfig(_Named):
    name: str = "resnet18"


class LauncherConfig(_Named):
    """A launcher by name. Written as a name alone where there are no options.

    >>> LauncherConfig(name="local").model_dump(), LauncherConfig(name="ray", address="auto").model_dump()
    ('local', {'name': 'ray', 'address': 'auto'})
    """

    name: str = "local"

    @model_serializer(mode="wrap")
    def _name_alone(self, handler: SerializerFunctionWrapHandler) -> Any:
        return handler(self) if self.options else self.name


class TrainingConfig(_Section):
    """How every phase of every run is trained, each with its own optimiser.

    ``schedule``: with ``steps`` the learning rate is multiplied by ``decay`` after each of the ``milestones`` (one list for all
    phases, or a list for each), with ``cosine`` it follows a cosine down to ``lr_end``. ``momentum`` applies to sgd.

    ``matmul`` is torch's precision of fp32 matrix products, ``compile`` compiles the net with torch. ``kernels``: torch's
    layers, or ours where they are faster (on CPUs, in fp32); ``layout``: the order of pixels in memory.
    """

    epochs: tuple[Epochs, ...] = (50, 50)
    batch_size: Positive = 32
    optimiser: Literal["sgd", "adam"] = "sgd"
    lr: Annotated[float, Field(gt=0)] = 0.01
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    weight_decay: Annotated[float, Field(ge=0)] = 1e-4
    milestones: tuple[Positive, ...] | tuple[tuple[Positive, ...], ...] = (35, 45)
    decay: Annotated[float, Field(gt=0, le=1)] = 0.1
    schedule: Literal["steps", "cosine"] = "steps"
    lr_end: Annotated[float, Field(ge=0)] = 0.0
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    device: str = "cpu"
    threads: Positive | Literal["auto"] = 1
    matmul: Literal["highest", "high", "medium"] = "highest"
    compile: bool = False
    kernels: Literal["auto", "torch", "own"] = "auto"
    layout: Literal["auto", "contiguous", "channels_last"] = "auto"

    def milestones_of(self, phase: int) -> tuple[int, ...]:
        """After which epochs of a phase (counted from 0) the learning rate is lowered.

        >>> TrainingConfig(milestones=((6, 8), (14, 18))).milestones_of(1)
        (14, 18)
        >>> TrainingConfig(milestones=(35, 45)).milestones_of(1)
        (35, 45)
        """
        own = self.milestones[phase] if self.milestones and isinstance(self.milestones[0], tuple) else self.milestones
        return tuple(own)  # type: ignore[arg-type]

    @field_validator("epochs", mode="before")
    @classmethod
    def _both_phases(cls, value: Any) -> Any:
        """``epochs: 3`` is short for three epochs of each of two phases (of all, where the stream lists them)."""
        return (value, value) if isinstance(value, int) and not isinstance(value, bool) else value

    @property
    def thread_count(self) -> int:
        """``threads`` as a number; ``auto`` is resolved before training.

        >>> TrainingConfig(threads=2).thread_count
        2
        """
        if self.threads == "auto":
            raise InputError("training.threads is 'auto' and has not been measured yet; give a number from 1")
        return self.threads

    @field_validator("threads", mode="wrap")
    @classmethod
    def _number_or_auto(cls, value: Any, check: ValidatorFunctionWrapHandler) -> Any:
        """Pydantic would name only the first of the two possible forms."""
        try:
            return check(value)
        except ValidationError:
            raise ValueError("give a number from 1, or auto") from None

    @field_validator("milestones", mode="wrap")
    @classmethod
    def _either_form(cls, value: Any, check: ValidatorFunctionWrapHandler) -> Any:
        """Pydantic would name only the first of the two possible forms."""
        try:
            return check(value)
        except ValidationError:
            raise ValueError("give epochs as a list of numbers from 1, or such a list for each phase") from None

    @model_validator(mode="after")
    def _one_schedule_per_phase(self) -> Self:
        nested = any(isinstance(entry, tuple) for entry in self.milestones)
        if nested and len(self.milestones) != len(self.epochs):
            raise ValueError("milestones has one list per phase, but epochs has a different number of entries")
        return self


class EvaluationConfig(_Section):
    """What is evaluated when. ``every_steps`` adds evaluations within the epochs of the last phase (of every phase with a cue,
    where the stream lists its phases).

    ``t1_all_every`` and ``extra_every`` count epochs of the last phase between measurements of T1_all and of the splits that
    the index does not need (SC clean, SC with the cue elsewhere, NSC with the cue). ``first_phase``: in the first phase all
    splits, only its own, or its own during the phase and all at its ``end``. ``subsets: end`` evaluates only validation during a
    phase and the rest at its end: faster, but without curves there is no adaptation delay.
    """

    batch_size: Positive = 250
    every_steps: Positive | None = None
    t1_all_every: Positive = 1
    extra_every: Positive = 1
    first_phase: Literal["all", "own", "end"] = "all"
    subsets: Literal["every-epoch", "end"] = "every-epoch"


class AttentionConfig(_Section):
    """Attention of a vision transformer, at the end of every phase and after the given ``epochs`` of each.

    ``splits`` and ``images``: which splits, and at most how many images of each (null: the usual splits, all images).
    ``examples``: how many images are kept with their maps, for the report.
    """

    epochs: tuple[Positive, ...] = ()
    splits: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    images: Positive | None = None
    batch_size: Positive = 50
    examples: Annotated[int, Field(ge=0)] = 4


class PluginConfig(_Section):
    """A Python file that registers learners, streams, cues, covers, backbones, launchers or diagnoses; its hash once read."""

    file: str
    sha256: str | None = None


class CombinationConfig(_Section):
    """A method made of others, by their names; exactly one of the three.

    ``parts: [REPLAY, METHOD]``: METHOD with replay of earlier phases; ``then: [FIRST, SECOND]``: FIRST learns the first phase,
    SECOND all others; ``of: METHOD``: METHOD again, with other options.
    """

    parts: tuple[str, str] | None = None
    then: tuple[str, str] | None = None
    of: str | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum(value is not None for value in (self.parts, self.then, self.of)) != 1:
            raise ValueError("give one of parts: [REPLAY, METHOD], then: [FIRST, SECOND] and of: METHOD")
        return self

    @model_serializer(mode="wrap")
    def _without_null(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value is not None}

    @property
    def kind(self) -> Literal["parts", "then", "of"]:
        return "parts" if self.parts else "then" if self.then else "of"

    @property
    def names(self) -> tuple[str, ...]:
        """The methods that it is made of.

        >>> CombinationConfig(of="gdro").names, CombinationConfig(then=("erm", "lle")).names
        (('gdro',), ('erm', 'lle'))
        """
        return self.parts or self.then or (str(self.of),)


_NAMED = ("stream", "cue", "backbone", "launcher")  # sections that may be given as a name alone


class StudyConfig(_Section):
    """Everything that determines a study and its results.

    ``format`` is the version of this schema. ``cue`` and ``cover`` are null where a stream plants none. ``audit``: the folder of
    an audit, whose boxes ``cover: from-audit`` covers. ``methods`` are names:
    of a learner, of one of the ``combinations``, or short for one (``er+lle``); ``{name: ..., parts: [er, lle]}`` defines a
    combination in place. ``logging``: where each run logs while it trains; all local. ``diagnosis``: how the study is
    evaluated (null: as its stream suggests), ``score`` holds that diagnosis' settings, and ``companions`` other diagnoses of
    the same runs, each with its settings; changing these needs no new training. ``probes`` are measured on the stored nets and
    need no new training either. ``launcher``: where jobs run, without effect on results.
    """

    format: Literal[2] = FORMAT
    name: PlainName = "study"
    plugins: tuple[PluginConfig, ...] = ()
    stream: StreamConfig = StreamConfig()
    cue: CueConfig | None = CueConfig()
    cover: str | None = "black"
    audit: str | None = Field(default=None, json_schema_extra=_A_PATH)
    backbone: BackboneConfig = BackboneConfig()
    training: TrainingConfig = TrainingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    attention: AttentionConfig | None = None
    methods: Annotated[tuple[str, ...], Field(min_length=1)] = ("scratch_t2", "sgd", "ewc_on", "derpp")
    combinations: dict[MethodName, CombinationConfig] = {}
    learners: dict[str, dict[str, Any]] = {}
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = (42, 123, 456, 789, 1011)
    diagnosis: str | None = None
    score: dict[str, Any] = {}
    companions: dict[str, dict[str, Any]] = {}
    launcher: LauncherConfig = LauncherConfig()
    probes: tuple[str, ...] = ()
    logging: tuple[Literal["csv", "tensorboard", "mlflow", "wandb"], ...] = ()

    @field_validator("methods", "seeds", "logging")
    @classmethod
    def _unique(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(set(value)) != len(value):
            raise ValueError("contains a duplicate")
        return value

    @field_validator("probes")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return known_probes(value)
        except InputError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, value: Any) -> Any:
        """``stream: shapes`` is short for ``stream: {name: shapes}``, ``seeds: 1`` for a list of one, and so on."""
        if isinstance(value, Mapping):
            value = with_combinations_apart(value)
            for key in _NAMED:
                if isinstance(value.get(key), str):
                    value[key] = {"name": value[key]}
            for key in ("methods", "seeds", "probes", "logging"):
                if isinstance(value.get(key), str | int):
                    value[key] = [value[key]]
            _one_number_for_all_phases(value)
            if isinstance(value.get("plugins"), list | tuple):
                value["plugins"] = [{"file": one} if isinstance(one, str) else one for one in value["plugins"]]
        return value


def _one_number_for_all_phases(values: dict[str, Any]) -> None:
    """``epochs: 3`` is short for three epochs of each of the stream's ``phases``.

    >>> values = {"stream": {"phases": [{}, {}, {}]}, "training": {"epochs": 3}}
    >>> _one_number_for_all_phases(values)
    >>> values["training"]
    {'epochs': [3, 3, 3]}
    """
    stream, training = values.get("stream"), values.get("training")
    phases = stream.get("phases") if isinstance(stream, Mapping) else None
    epochs = training.get("epochs") if isinstance(training, Mapping) else None
    if isinstance(phases, list | tuple) and isinstance(epochs, int) and not isinstance(epochs, bool):
        values["training"] = {**training, "epochs": [epochs] * len(phases)}  # type: ignore[dict-item]


def with_combinations_apart(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values, with the combinations that ``methods`` defines in place moved to ``combinations``.

    >>> with_combinations_apart({"methods": ["sgd", {"name": "mine", "of": "gdro"}]})
    {'methods': ['sgd', 'mine'], 'combinations': {'mine': {'of': 'gdro'}}}
    """
    methods, defined = values.get("methods"), values.get("combinations") or {}
    if not isinstance(methods, list | tuple) or not isinstance(defined, Mapping):
        return dict(values)  # the model says what is wrong with these
    own = {
        method["name"]: {key: value for key, value in method.items() if key != "name"}
        for method in methods
        if isinstance(method, Mapping) and isinstance(method.get("name"), str)
    }
    if not own:
        return dict(values)
    names = [method.get("name", method) if isinstance(method, Mapping) else method for method in methods]
    return {**values, "methods": names, "combinations": {**defined, **own}}


def preset_names() -> list[str]:
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def read_preset(name: str) -> dict[str, Any]:
    if name not in preset_names():
        raise InputError(f"unknown preset '{name}': {suggestion(name, preset_names())}")
    return read_config(PRESETS / f"{name}.yaml")


def read_config(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; ``preset: NAME`` starts from that preset, relative paths start at the file's folder."""
    values = with_combinations_apart(_paths_from(path.parent, _read_yaml(path)))
    if "preset" in values:
        values = merged(read_preset(str(values["preset"])), {k: v for k, v in values.items() if k != "preset"})
    return values


def _paths_from(folder: Path, values: dict[str, Any]) -> dict[str, Any]:
    """Make relative paths of the user's files (plug-ins, pictures, weights) absolute."""

    def found(one: Any) -> Any:
        return str((folder / Path(one).expanduser()).absolute()) if isinstance(one, str) and one else one

    result = dict(values)
    paths = {name for name, known in StudyConfig.model_fields.items() if known.json_schema_extra == _A_PATH}
    result |= {key: found(value) for key, value in result.items() if key in paths}
    for section, key in _PATHS:
        if isinstance(inner := result.get(section), Mapping) and key in inner:
            result[section] = {**inner, key: found(inner[key])}
    if isinstance(plugins := result.get("plugins"), list):
        result["plugins"] = [
            {**one, "file": found(one.get("file"))} if isinstance(one, Mapping) else found(one) for one in plugins
        ]
    return result


def _read_yaml(path: Path) -> dict[str, Any]:
    values = read_yaml(path, f"no such configuration: {path}; 'einstellung ls presets' lists the built-in ones")
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise InputError(f"{path} must contain 'key: value' lines, not a {type(values).__name__}")
    return values


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """``change`` laid over ``base``, section by section; a section that is a name alone keeps it.

    >>> merged({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}})
    {'a': {'b': 3, 'c': 2}}
    >>> merged({"backbone": "vit"}, {"backbone": {"dim": 48}})
    {'backbone': {'name': 'vit', 'dim': 48}}

    An entry of a list is changed by its number, from 0.

    >>> merged({"phases": [{"a": 1}, {"a": 2}]}, {"phases": {"1": {"a": 3}}})
    {'phases': [{'a': 1}, {'a': 3}]}
    """
    result = dict(base)
    for key, value in change.items():
        below = result.get(key)
        if isinstance(below, list | tuple) and isinstance(value, Mapping):
            result[key] = _with_entries(below, value, key)
            continue
        if key in _NAMED and isinstance(below, str):
            below = {"name": below}
        result[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return result


def _with_entries(entries: Sequence[Any], change: Mapping[str, Any], key: str) -> Any:
    """A list with some of its entries changed, by number; a mapping of anything else replaces the list."""
    if not change or not all(str(number).isdecimal() for number in change):
        return change
    result = list(entries)
    for number, value in change.items():
        place = int(number)
        if place >= len(result):
            raise InputError(f"{key} has {len(result)} entries, counted from 0: there is none with the number {place}")
        both = isinstance(result[place], Mapping) and isinstance(value, Mapping)
        result[place] = merged(result[place], value) if both else value
    return result


def with_assignments(values: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """Apply ``--set key=value``: dotted keys, values in YAML.

    >>> with_assignments({}, ["training.lr=0.1", "cue.place=[2, 3]"])
    {'training': {'lr': 0.1}, 'cue': {'place': [2, 3]}}
    """
    result = dict(values)
    for assignment in assignments:
        key, sign, text = assignment.partition("=")
        if not sign or not key.strip():
            raise InputError(f"--set {assignment}: write it as key=value, for instance --set training.lr=0.1")
        result = with_value(result, key.strip(), parse_yaml(text, f"--set {key.strip()}"))
    return result


def with_value(values: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Change one setting, by its dotted key.

    >>> with_value({"cue": {"size": 4, "share": 1.0}}, "cue.size", 6)
    {'cue': {'size': 6, 'share': 1.0}}
    """
    for part in reversed(key.split(".")):
        value = {part: value}
    return merged(values, value)


def build_config(values: Mapping[str, Any], where: str | None = "the configuration") -> StudyConfig:
    """Check everything that can be checked without torch; the error names ``where`` the problems are, and their keys."""
    problems = ProblemList("" if where is None else f"{where}: ")
    for (section, old), new in _RENAMED_KEYS.items():
        if isinstance(given := values.get(section), Mapping) and old in given:
            problems.add(f"'{section}.{old}' is now called '{section}.{new}': rename the key")
    config = None
    try:
        config = StudyConfig.model_validate(dict(values))
    except ValidationError as error:
        found = error.errors()
        for problem in found:
            # entries that are invalid do not count, so pydantic also calls their list too short
            inside = [other for other in found if other is not problem and other["loc"][:-1] == problem["loc"]]
            if problem["type"] != "too_short" or not inside:
                problems.add(_describe(problem))
    problems.raise_any()
    assert config is not None
    return config


def _describe(problem: Mapping[str, Any]) -> str:
    place = [str(part) for part in problem["loc"]]
    key = ".".join(place)
    if problem["type"] == "extra_forbidden":
        return f"unknown key '{key}': {suggestion(place[-1], _keys_at(place[:-1]))}"
    if problem["type"] == "too_short":
        return f"{key}: give at least {problem['ctx']['min_length']} (got {quoted(problem.get('input'))})"
    message = str(problem["msg"]).removeprefix("Value error, ")
    return f"{key}: {message[0].lower()}{message[1:]} (got {quoted(problem.get('input'))})"


def _keys_at(place: Sequence[str]) -> list[str]:
    model: Any = StudyConfig
    for part in place:
        if part not in model.model_fields:
            continue  # an index in a list, or a name that the user chose
        model = model.model_fields[part].annotation
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            model = next(kind for kind in get_args(model) if isinstance(kind, type) and issubclass(kind, BaseModel))
    return list(model.model_fields)


def to_yaml(config: StudyConfig) -> str:
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
