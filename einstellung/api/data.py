"""``two_phase`` and ``phases``: the protocol on your own data, for your own loop or for our learners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from einstellung.api import own_inputs
from einstellung.api.batches import PhaseImages, SplitImages
from einstellung.api.inputs import class_names, class_numbers, read_labelled
from einstellung.cues import Cue, cues, cues_for
from einstellung.errors import InputError
from einstellung.experiments.plugins import load_plugins
from einstellung.files import require_writable
from einstellung.modalities import IMAGES, TEXTS, Modality
from einstellung.options import checked_options, internal_fields
from einstellung.results.config import PluginConfig, merged
from einstellung.results.folder import ResultsFolder
from einstellung.streams import Presentation, Proof, Stream, prove
from einstellung.streams.arrays import ArraySource, array_stream
from einstellung.streams.colours import Colour
from einstellung.streams.own_inputs import InputSource, own_stream
from einstellung.streams.two_phase import LabelledImages
from einstellung.timeline import SC_MASK

if TYPE_CHECKING:
    from einstellung.api.progress import OnProgress
    from einstellung.api.results import Result
    from einstellung.api.scoring import AnyPath

Classes = Sequence[int | str]


@dataclass(frozen=True, repr=False)
class TwoPhaseData:
    """Two phases of data with a cue in the second, and the splits that show whether a model relies on it.

    ``train["T1"]`` and ``train["T2"]`` are data sets for a DataLoader; ``splits`` goes to :meth:`Recorder.evaluate`. Inputs are
    floats, normalised by ``stream.mean`` and ``stream.std``. ``proof`` holds the checks that the data passed.
    """

    stream: Stream
    proof: Proof
    source: ArraySource | InputSource
    options: Mapping[str, Any]
    plugins: tuple[PluginConfig, ...] = ()
    study_cue: Cue | None = None  # that phases may change; the stream's own where there are two phases

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the head's outputs, in order: T1's classes, then those with the cue, then the others of T2."""
        return self.stream.class_names

    @property
    def classes(self) -> dict[str, tuple[int, ...]]:
        """The labels of each phase, as :meth:`Recorder.evaluate` takes them."""
        return {phase.name: phase.classes for phase in self.stream.phases}

    @cached_property
    def train(self) -> dict[str, PhaseImages]:
        """The training images of each phase, T2's with the cue on its share of the shortcut classes."""
        return {phase.name: PhaseImages(phase.train, self._presentation, phase.name) for phase in self.stream.phases}

    @cached_property
    def splits(self) -> dict[str, SplitImages]:
        """The evaluation splits by name, the covered one among them."""
        return {split.name: SplitImages(split.images, self._presentation) for split in self.stream.splits}

    @property
    def covered(self) -> SplitImages:
        """The test images of the shortcut classes with the cue covered: what a model knows without it."""
        return self.splits[SC_MASK]

    def run(
        self,
        methods: Sequence[str] | None = None,
        seeds: Sequence[int] = (1, 2, 3),
        *,
        out: AnyPath | None = None,
        workers: int | str | None = None,
        on_progress: OnProgress | None = None,
        **settings: Any,
    ) -> Result:
        """Train our learners on these data and return the result. ``settings`` are those of a configuration.

        ``methods``: by default plain fine-tuning and the baseline, a new net for T2 (for every phase, where there are more).

        A copy of the images is kept in the results folder, so that a study can be resumed; other data are refused there.
        """
        from einstellung.api.results import Result
        from einstellung.api.studies import run

        baseline = "scratch_t2" if len(self.stream.phases) == 2 else "scratch"
        config = {"methods": list(methods or (baseline, "sgd")), "seeds": list(seeds), **settings}
        found = run(config, out=out, workers=workers, on_progress=on_progress, stream=self)
        assert isinstance(found, Result)
        return found

    @contextmanager
    def stored_in(self, results: ResultsFolder, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The settings of a study of these data, stored in its folder; what was written is removed if the study never began."""
        configured = self._configured(results, values)
        results.check_usable()
        require_writable(results.path)
        file, is_new = results.data_file, not results.data_file.exists()
        if not is_new and type(self.source).read(file).content != self.source.content:
            raise InputError(f"{results.path} holds a study of other data; choose another out, or delete that folder")
        folder_is_new = not results.path.exists()
        if is_new:
            self.source.write(file)
        try:
            yield configured
        except InputError:
            if is_new and not results.is_study:
                file.unlink(missing_ok=True)
                _remove_if_empty(results.path, folder_is_new)
            raise

    def _configured(self, results: ResultsFolder, values: Mapping[str, Any]) -> dict[str, Any]:
        for key in ("cue", "cover"):
            if key in values and values[key] is not None and values[key] != self.options.get(key):
                raise InputError(f"{key} belongs to the data: give it to two_phase(), not to run()")
        path = str(results.data_file.absolute())
        stream = {
            "name": self.stream.name,
            "path": path,
            "input_size": self.stream.input_size,
            **self.options["stream"],
        }
        planted = {"cue": _cue_setting(self.study_cue or self.stream.planted_cue), "cover": self.stream.cover}
        plugins = [plugin.model_dump() for plugin in self.plugins]
        together = merged(dict(values), {"stream": stream, **planted})
        return {**together, "stream": stream, **planted, "plugins": [*values.get("plugins", []), *plugins]}

    @cached_property
    def _presentation(self) -> Presentation:
        return Presentation(self.stream)

    def __repr__(self) -> str:
        many = self.stream.modality.words.many
        sizes = ", ".join(f"{name} {len(images)} training {many}" for name, images in self.train.items())
        checks = f"{sum(check.passed is True for check in self.proof.checks)} of {len(self.proof.checks)} checks passed"
        return f"<{type(self).__name__}: {len(self.class_names)} classes; {sizes}; {self.stream.cue!r}; {checks}>"


def two_phase(
    train: Any,
    test: Any,
    *,
    t1: Classes,
    t2: Classes,
    shortcut: Classes,
    modality: str = "image",
    cue: Cue | str | Mapping[str, Any] | None = None,
    cover: str | None = None,
    names: Sequence[str] | None = None,
    validation: float = 0.1,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    crop_padding: int | None = None,
    flip: bool = True,
    input_size: int | None = None,
    length: int = 128,
    vocabulary: int = 20_000,
    min_count: int = 2,
    room: int = 8,
    plugins: Sequence[AnyPath] = (),
) -> TwoPhaseData:
    """Two phases from your own labelled images, texts or series, with a cue planted in the second.

    ``train`` and ``test``: (images, labels) as tensors or arrays, a data set of (image, label) pairs such as torchvision's, or a
    Hugging Face data set. ``t1`` and ``t2``: the classes of each phase, by name or number; ``shortcut``: the classes of T2 whose
    images get the cue. ``cue``: a :class:`Cue`, a name, or a dict of its options (``{"size": 6, "share": 0.8}``). ``cover``: what
    covers it (defaults: ``patch`` and ``black``). ``names``: of the classes, by number.

    ``validation``: the share of T2's training images that is held out. ``mean`` and ``std`` normalise inputs (default: those of
    the training images); ``crop_padding`` and ``flip`` are the augmentation in training; ``input_size``: the side to which images
    are enlarged. ``plugins``: files that register a cue or a cover of your own.

    ``modality="series"``: arrays [N, samples] or [N, channels, samples] in place of images. ``modality="text"``: strings, encoded
    by the ``vocabulary`` most frequent words of the training texts that occur ``min_count`` times, ``length`` tokens a text; or
    token numbers [N, tokens] with 0 for padding, 1 for an unknown word, and words from 16. ``room``: free places at each end.

    The data are checked before they are returned: phases share no class and no image, the cue is where it should be, and its
    cover hides it completely.
    """
    kind = own_inputs.known_modality(modality)
    found = load_plugins(PluginConfig(file=str(Path(file).absolute())) for file in plugins)
    cue, cover = _cue(kind.default_cue if cue is None else cue, kind), own_inputs.suitable_cover(cover, kind)
    if kind is not IMAGES:
        own_inputs.refuse(kind, mean=mean, std=std, crop_padding=crop_padding, input_size=input_size)
        inputs = own_inputs.input_source(
            train, test, modality, names, length=length, vocabulary=vocabulary, min_count=min_count
        )
        parts_by_name = {
            key: class_names(key, given, inputs.names)
            for key, given in (("t1", t1), ("t2", t2), ("shortcut", shortcut))
        }
        chosen: dict[str, Any] = {
            **parts_by_name,
            "validation": validation,
            **({"room": room} if kind is TEXTS else {}),
        }
        stream = own_stream(kind, inputs, cue, cover, prefix="", **chosen)
        return TwoPhaseData(stream, _proved(stream), inputs, {"stream": chosen}, found)
    source = _source(train, test, names)
    options: dict[str, Any] = {
        **{
            key: class_names(key, given, source.names)
            for key, given in (("t1", t1), ("t2", t2), ("shortcut", shortcut))
        },
        "validation": validation,
        "crop_padding": crop_padding,
        "flip": flip,
        "mean": _colour("mean", mean),
        "std": _colour("std", std),
    }
    stream = replace(array_stream(source, cue, cover, **options), input_size=input_size)
    return TwoPhaseData(stream, _proved(stream), source, {"stream": options}, found)


class PhasedData(TwoPhaseData):
    """Any number of phases, some of them with a cue; like :class:`TwoPhaseData`, with a data set in ``train`` for each."""

    @property
    def covered(self) -> SplitImages:
        """The test images of the last phase's shortcut classes with the cue covered: what a model knows without it."""
        return self.splits[f"{list(self.stream.phase_cues)[-1]}{SC_MASK.removeprefix('T2')}"]


def phases(
    train: Any,
    test: Any,
    phases: Sequence[Mapping[str, Any]],
    *,
    cue: Cue | str | Mapping[str, Any] = "patch",
    cover: str = "black",
    names: Sequence[str] | None = None,
    validation: float = 0.1,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    crop_padding: int | None = None,
    flip: bool = True,
    input_size: int | None = None,
    plugins: Sequence[AnyPath] = (),
) -> PhasedData:
    """Any number of phases from your own labelled images, with a cue that comes, goes, returns or changes its meaning.

    ``phases``: a list of dicts with ``classes`` (by name or number), ``shortcut`` (those of them that get the cue; none: no cue
    in this phase), ``cue`` (changes of the cue for this phase, such as ``{"share": 0.8}``, or None for no cue) and ``name``
    (default: T1, T2, ...). Everything else as in :func:`two_phase`.
    """
    found = load_plugins(PluginConfig(file=str(Path(file).absolute())) for file in plugins)
    source = _source(train, test, names)
    cover = own_inputs.suitable_cover(cover, IMAGES)
    options: dict[str, Any] = {
        "phases": [_named(one, number, source.names) for number, one in enumerate(phases)],
        "validation": validation,
        "crop_padding": crop_padding,
        "flip": flip,
        "mean": _colour("mean", mean),
        "std": _colour("std", std),
    }
    own = _cue(cue)
    stream = replace(array_stream(source, own, cover, **options), input_size=input_size)
    return PhasedData(stream, _proved(stream), source, {"stream": options}, found, own)


def _named(phase: Any, number: int, known: Sequence[str]) -> Any:
    """A phase with its classes by name; what else is wrong with it, the stream says."""
    if not isinstance(phase, Mapping):
        return phase
    given = {key: phase[key] for key in ("classes", "shortcut") if phase.get(key)}
    return {**phase, **{key: list(class_names(f"phases[{number}].{key}", one, known)) for key, one in given.items()}}


def _source(train: Any, test: Any, names: Sequence[str] | None) -> ArraySource:
    parts = {"train": read_labelled(train, "train"), "test": read_labelled(test, "test")}
    if (one := parts["train"].images.shape[1:]) != (other := parts["test"].images.shape[1:]):
        raise InputError(f"training images are {list(one)} and test images {list(other)}: resize all to one size")
    numbers, known = class_numbers(parts, names)
    labelled = {key: LabelledImages(part.images, numbers[key]) for key, part in parts.items()}
    return ArraySource(labelled["train"], labelled["test"], known)


def _proved(stream: Stream) -> Proof:
    Presentation(stream)  # refuses an input_size below the images' own
    proof = prove(stream)
    proof.require()
    return proof


def _cue(given: Cue | str | Mapping[str, Any], kind: Modality = IMAGES) -> Cue:
    if isinstance(given, str):
        given = {"name": given}
    if isinstance(given, Mapping):
        options = dict(given)
        name = str(options.pop("name", kind.default_cue))
        make = cues[name]
        own_inputs.require_suitable("cue", name, cues_for(kind.name), kind)
        return make(**checked_options(make, "cue", options))
    missing = [name for name in ("share", "paint", "region", "elsewhere") if not hasattr(given, name)]
    if missing:
        raise InputError(f"the cue is a {type(given).__name__} without {missing[0]}: see docs/bring-your-own.md")
    if (own := getattr(given, "modality", IMAGES.name)) != kind.name:
        raise InputError(
            f"the cue {type(given).__name__} has the modality '{own}': {kind.words.many} need '{kind.name}'"
        )
    return given


def _cue_setting(cue: Cue) -> dict[str, Any]:
    """A cue as a configuration names it, for worker processes."""
    name = next((name for name in cues if cues[name] is type(cue)), None)
    if name is None or not is_dataclass(cue):
        raise InputError(
            f"worker processes cannot rebuild the cue {type(cue).__name__}: register it as a dataclass in a file "
            "(@cues.register) and give two_phase(..., plugins=[file], cue=name)"
        )
    hidden = internal_fields(type(cue))
    return {"name": name, **{key: value for key, value in asdict(cue).items() if key not in hidden}}


def _colour(key: str, given: Sequence[float] | None) -> Colour | None:
    if given is None:
        return None
    if len(given) != 3:
        raise InputError(f"{key} has {len(given)} numbers: give three, one a colour channel")
    return float(given[0]), float(given[1]), float(given[2])


def _remove_if_empty(folder: Path, is_new: bool) -> None:
    if is_new and folder.is_dir() and all(one.name == ".lock" for one in folder.iterdir()):
        (folder / ".lock").unlink(missing_ok=True)
        folder.rmdir()
