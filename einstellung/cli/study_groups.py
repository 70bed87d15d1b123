"""Several studies in one folder: what is recorded about them, and the page that compares them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from einstellung.cli.output import show_family
from einstellung.cli.progress import report_progress

if TYPE_CHECKING:
    from einstellung.diagnoses.contract import Diagnosis
    from einstellung.results.sweep import Grid, Sweep


class StudyGroup(Protocol):
    """Studies that run and are reported together; ``reports_each``: every study gets its own page as soon as it is done."""

    reports_each: ClassVar[bool]

    def check(self) -> None:
        """Refuse a folder that holds something else."""

    def check_diagnoses(self, kinds: Mapping[str, Diagnosis[Any, Any]]) -> None:
        """Refuse studies that no page can compare, before hours of training."""

    def write(self) -> None:
        """Record the studies in the folder."""

    def show(self, as_json: bool) -> None:
        """Write the page of all studies and print the result."""


@dataclass(frozen=True)
class SweepGroup:
    """Studies that differ in one setting or two."""

    reports_each: ClassVar[bool] = True

    root: Path
    sweep: Sweep | Grid

    def check(self) -> None:
        from einstellung.results.sweep import check_root

        check_root(self.root, self.sweep)

    def check_diagnoses(self, kinds: Mapping[str, Diagnosis[Any, Any]]) -> None:
        from einstellung.diagnoses.reporting import common_diagnosis

        common_diagnosis(kinds, "sweep")

    def write(self) -> None:
        from einstellung.results.sweep import write_sweep

        write_sweep(self.root, self.sweep)

    def show(self, as_json: bool) -> None:
        from einstellung.diagnoses.reporting import report_sweep

        with report_progress("all studies"):
            family = report_sweep(self.root)
        show_family(family, as_json)


@dataclass(frozen=True)
class FamilyGroup:
    """The studies that one configuration names; the result of one may be the reference of the others."""

    reports_each: ClassVar[bool] = False

    root: Path
    names: tuple[str, ...]
    order: tuple[str, ...] = ()  # of all studies in the configuration, where only some are run

    def check(self) -> None:
        from einstellung.results.family import check_family_root

        check_family_root(self.root)

    def check_diagnoses(self, kinds: Mapping[str, Diagnosis[Any, Any]]) -> None:
        from einstellung.diagnoses.reporting import common_diagnosis, diagnosis_of
        from einstellung.results.family import family_file, read_family
        from einstellung.results.folder import ResultsFolder
        from einstellung.timeline import Timeline

        known = read_family(self.root) if family_file(self.root).exists() else []
        folders = {name: ResultsFolder(self.root / name) for name in known if name not in kinds}
        earlier = {
            name: diagnosis_of(folder.config(), Timeline.read(folder.timeline_file).splits)
            for name, folder in folders.items()
            if folder.timeline_file.exists()
        }
        common_diagnosis({**kinds, **earlier}, "family")

    def write(self) -> None:
        from einstellung.results.family import write_family

        write_family(self.root, self.names, self.order)

    def show(self, as_json: bool) -> None:
        from einstellung.diagnoses.reporting import report_family
        from einstellung.results.family import read_family

        # all studies that the root records, as a later report shows them
        with report_progress("all studies"):
            family = report_family(self.root, read_family(self.root))
        show_family(family, as_json)
