"""A study's configuration: its schema, where it is read from, and messages about wrong keys. No torch in here."""

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

from einstellung.errors import InputError
from einstellung.registry import suggestion
from einstellung.results.probe_names import known_probes

PRESETS = Path(__file__).parent / "presets"
FORMAT: Literal[2] = 2  # of config.yaml and the keys of runs; older results folders have none

Positive = Annotated[int, Field(ge=1)]
MethodName = Annotated[str, Field(pattern=r"^\w[\w.+~-]*$")]  # part of the name of a folder
Seed = Annotated[int, Field(ge=0, lt=2**53)]  # what every number format on the way keeps exactly
PlainName = Annotated[str, Field(pattern=r"^\w[\w .+-]*$")]  # it becomes the name of a folder
# section and old key -> new key; a configuration that uses the old one is refused with the new name
_RENAMED_KEYS = {("stream", "shown_size"): "input_size", ("stream", "sees"): "input_modality"}
_PATHS = (
    ("stream", "path"),
    ("stream", "boxes"),
    ("stream", "rules"),
    ("stream", "perception"),
    ("backbone", "weights"),
)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Named(BaseModel):
    """A registered entry by name; its other keys are its own options, which it checks itself."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class StreamConfig(_Named):
    """A stream by name. ``input_size``: the side to which images are enlarged for the net, cue included; null: unchanged."""

    name: str = "shapes"
    input_size: Annotated[int, Field(ge=8)] | None = None


class CueConfig(_Named):
    name: str = "patch"


class BackboneConfig(_Named):
    name: str = "resnet18"


class TrainingConfig(_Section):
    """How every phase of every run is trained, each with an optimiser of its own.

    ``schedule``: with ``steps`` the learning rate is multiplied by ``decay`` after each of the ``milestones`` (one list for all
    phases, or a list for each), with ``cosine`` it falls along half a wave to ``lr_end``. ``momentum`` is sgd's.

    ``matmul`` is torch's setting for products of fp32 matrices, ``compile`` has torch compile the net. ``kernels``: torch's own
    ways through a net's layers, or ours where they are faster (on CPUs, in fp32); ``layout``: the order of pixels in memory.
    """

    epochs: tuple[Positive, ...] = (50, 50)
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
        """``epochs: 3`` is short for three epochs of each of two phases."""
        return (value, value) if isinstance(value, int) and not isinstance(value, bool) else value

    @property
    def thread_count(self) -> int:
        """``threads`` as a number, which ``auto`` becomes before anything is trained.

        >>> TrainingConfig(threads=2).thread_count
        2
        """
        if self.threads == "auto":
            raise InputError("training.threads is 'auto' and was not measured yet; give a number from 1")
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
            raise ValueError("milestones has a list for each phase, but not as many as epochs has entries")
        return self


class EvaluationConfig(_Section):
    """What is measured when. ``every_steps`` adds measurements within an epoch of the last phase.

    ``t1_all_every`` and ``extra_every`` count epochs of the last phase between measurements of T1_all and of the splits that
    the index does not need (SC clean, SC with the cue elsewhere, NSC with the cue). ``first_phase``: in the first phase all
    splits, its own only, or its own on the way and all at its ``end``. ``subsets: end`` measures nothing but validation on the
    way and the rest at the end of a phase: quicker, but without curves there is no adaptation delay.
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
    ``examples``: how many images are kept with their maps, to be looked at.
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
    SECOND all others; ``of: METHOD``: METHOD once more, with options of its own.
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


_NAMED = ("stream", "cue", "backbone")  # sections that may be given as a name alone


class StudyConfig(_Section):
    """Everything that shapes a study and its results.

    ``format`` is the version of this schema. ``cue`` and ``cover`` are null where a stream plants none. ``methods`` are names:
    of a learner, of one of the ``combinations``, or short for one (``er+lle``); ``{name: ..., parts: [er, lle]}`` defines a
    combination in place. ``logging``: files to watch a run by. ``diagnosis`` names what the study asks (null: what its stream is
    made for), ``score`` holds that diagnosis' settings, and ``companions`` other diagnoses of the same runs, each with its
    settings; changing these trains nothing anew. ``probes`` are measured on the nets that the phases leave; they train nothing
    anew either. ``launcher``: where jobs run, without effect on results.
    """

    format: Literal[2] = FORMAT
    name: PlainName = "study"
    plugins: tuple[PluginConfig, ...] = ()
    stream: StreamConfig = StreamConfig()
    cue: CueConfig | None = CueConfig()
    cover: str | None = "black"
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
    launcher: str = "local"
    probes: tuple[str, ...] = ()
    logging: tuple[Literal["csv", "tensorboard"], ...] = ()

    @field_validator("methods", "seeds", "logging")
    @classmethod
    def _unique(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(set(value)) != len(value):
            raise ValueError("names something twice")
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
            if isinstance(value.get("plugins"), list | tuple):
                value["plugins"] = [{"file": one} if isinstance(one, str) else one for one in value["plugins"]]
        return value


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
    for section, key in _PATHS:
        if isinstance(inner := result.get(section), Mapping) and key in inner:
            result[section] = {**inner, key: found(inner[key])}
    if isinstance(plugins := result.get("plugins"), list):
        result["plugins"] = [
            {**one, "file": found(one.get("file"))} if isinstance(one, Mapping) else found(one) for one in plugins
        ]
    return result


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"no such configuration: {path}; 'einstellung ls presets' lists the built-in ones") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an invalid date
        raise InputError(f"{path} is not valid YAML: {error}") from None
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise InputError(f"{path} must hold 'key: value' lines, not a {type(values).__name__}")
    return values


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """``change`` laid over ``base``, section by section; a section that is a name alone keeps it.

    >>> merged({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}})
    {'a': {'b': 3, 'c': 2}}
    >>> merged({"backbone": "vit"}, {"backbone": {"dim": 48}})
    {'backbone': {'name': 'vit', 'dim': 48}}
    """
    result = dict(base)
    for key, value in change.items():
        below = result.get(key)
        if key in _NAMED and isinstance(below, str):
            below = {"name": below}
        result[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
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
        try:
            value = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError):
            raise InputError(f"--set {assignment}: the value is not valid YAML") from None
        result = with_value(result, key.strip(), value)
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
    """Check everything that can be checked without torch; the error names ``where`` the first problem is, and its key."""
    prefix = "" if where is None else f"{where}: "
    for (section, old), new in _RENAMED_KEYS.items():
        if isinstance(given := values.get(section), Mapping) and old in given:
            raise InputError(f"{prefix}'{section}.{old}' is now called '{section}.{new}': rename the key")
    try:
        return StudyConfig.model_validate(dict(values))
    except ValidationError as error:
        raise InputError(f"{prefix}{_describe(error.errors()[0])}") from None


def _describe(problem: Mapping[str, Any]) -> str:
    place = [str(part) for part in problem["loc"]]
    key = ".".join(place)
    if problem["type"] == "extra_forbidden":
        return f"unknown key '{key}': {suggestion(place[-1], _keys_at(place[:-1]))}"
    message = str(problem["msg"]).removeprefix("Value error, ")
    return f"{key}: {message[0].lower()}{message[1:]} (got {problem.get('input')!r})"


def _keys_at(place: Sequence[str]) -> list[str]:
    model: Any = StudyConfig
    for part in place:
        if part not in model.model_fields:
            continue  # a place in a list, or a name of the user's own
        model = model.model_fields[part].annotation
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            model = next(kind for kind in get_args(model) if isinstance(kind, type) and issubclass(kind, BaseModel))
    return list(model.model_fields)


def to_yaml(config: StudyConfig) -> str:
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
