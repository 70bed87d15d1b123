"""From an audit's folder to its card: verdicts, tables, checks, the page; and what a broken folder says."""

from __future__ import annotations

import io

import jsonschema
import numpy as np
import pandas as pd
import pytest

from einstellung.diagnoses.audit import error_rates
from einstellung.diagnoses.audit.answer import answer
from einstellung.diagnoses.audit.card import AuditCard
from einstellung.diagnoses.audit.error_rates import AlarmRate, DetectionRate, ErrorRates
from einstellung.diagnoses.audit.score import score_audit
from einstellung.diagnoses.audit.tables import study_tables
from einstellung.diagnoses.audit.verdict import judge
from einstellung.diagnoses.reporting import report_logs, score_logs
from einstellung.errors import InputError
from einstellung.report.table_formats import to_csv
from einstellung.report.tables import Missing, Table
from einstellung.results.audit_files import (
    PICTURES_FILE,
    AuditFile,
    BearingImage,
    Beats,
    DataWindow,
    Finding,
    ModelAudit,
    ProxyRow,
    RelativeRow,
    write_audit,
)
from einstellung.timeline import Timeline

RATES = ErrorRates(
    alarm_rate=AlarmRate(value=0.02, ci95=(0.002, 0.07), nets=100),
    found=DetectionRate(share=0.95, ci95=(0.88, 0.98), nets=80, smallest_delta=0.1),
)


def finding(**changes) -> Finding:
    values = {
        "label": 3,
        "name": "cat",
        "kind": "localised",
        "box": (24, 28, 4, 4),
        "area": 1 / 64,
        "delta": 0.352,
        "ci95": (0.301, 0.4),
        "found_by": ("occlusion", "attribution"),
        "beats": Beats(nsc=True, random=True, fillings=True),
        "images": (BearingImage(index=1, score=0.9, box=(24, 28, 4, 4)), BearingImage(index=0, score=0.1, box=None)),
        "pull": 0.6,
        "pull_null": 0.1,
        "strength": 6.0,
        "threshold": 3.0,
        "p": 0.01,
        "fillings": {"black": 0.352, "mean": 0.34},
        "nsc": 0.01,
        "random": 0.02,
        "construction": "a box at one place, covered in black",
    }
    return Finding(**(values | changes))


SUSPICION = finding(beats=Beats(nsc=True, random=False, fillings=True))
GLOBAL = finding(kind="global", box=None, component="colour", area=1.0, construction="channels exchanged")


def model(findings=(), suspicions=(), **changes) -> ModelAudit:
    row = ProxyRow(
        proxy="occlusion", method="sliding", label=3, budget=0.02, area=0.02, delta=0.3, ci95=(0.2, 0.4), n=50
    )
    values = {
        "accuracy": 0.75,
        "per_class": {3: 1.0, 4: 0.5},
        "proxies": (row,),
        "images_evaluated": 1000,
        "seconds": 2.0,
    }
    return ModelAudit(findings=tuple(findings), suspicions=tuple(suspicions), **(values | changes))


def audit(models, **changes) -> AuditFile:
    values = {
        "class_names": {3: "cat", 4: "dog"},
        "n_images": 4,
        "image_size": (32, 32),
        "settings": {"budgets": [0.02], "proxies": ["occlusion"], "seed": 0, "images_available": 4},
        "image_names": ("a.png", "b.png", "c.png", "d.png"),
    }
    return AuditFile(models=models, **(values | changes))


def timeline(runs=(("sgd", 1),), accuracy=0.75) -> Timeline:
    splits = {"audit_normal": (accuracy, 4), "audit_normal_class3": (1.0, 20), "audit_normal_class4": (0.5, 20)}
    rows = [
        {"method": method, "seed": seed, "phase": "T1", "epoch": 0, "split": split, "acc": acc, "loss": None, "n": n}
        for method, seed in runs
        for split, (acc, n) in splits.items()
    ]
    return Timeline(pd.DataFrame(rows))


@pytest.mark.parametrize(
    ("one", "name", "words"),
    [
        (
            model([finding()]),
            "localised cue",
            "A localised cue for 'cat' at rows 24 to 27, columns 28 to 31, worth 35.2 points of accuracy (proxy: a box at one "
            "place, covered in black; 1.6 % of the image; 95 %: 30.1 to 40.0), found by occlusion and attribution; beats the "
            "controls the same mask on other classes, random masks and other fillings.",
        ),
        (model([GLOBAL]), "global cue suspected", "A global cue (colour) is suspected for 'cat', worth 35.2 points"),
        (model([GLOBAL, finding()]), "localised cue", "A global cue"),
        (model([], [SUSPICION]), "cue suspected", "Suspected: a localised cue for 'cat' at rows 24 to 27"),
        (
            model(),
            "nothing found",
            "Nothing found: a localised cue worth 10.0 points of accuracy or more was found in 95.0 % of",
        ),
        (model(cannot_tell="class 3 has 2 images"), "cannot tell", "Cannot tell: class 3 has 2 images."),
    ],
)
def test_verdicts_in_words(one, name, words):
    verdict = judge(one, RATES)
    assert verdict.name == name
    assert verdict.sentences[0].startswith(words)


def test_a_suspicion_says_which_control_it_does_not_beat():
    assert judge(model([], [SUSPICION]), RATES).sentences[0].endswith("and other fillings, but not random masks.")


def test_what_is_suspected_says_how_often_clean_networks_are():
    rates = RATES.model_copy(update={"suspicion_rate": AlarmRate(value=0.2, ci95=(0.127, 0.292), nets=100)})
    words = "Of 100 clean networks, 20.0 % are suspected as well (95 % interval 12.7 % to 29.2 %)."
    assert judge(model([], [SUSPICION]), rates).sentences[-1] == words
    assert words not in judge(model([finding()]), rates).sentences


def test_controls_of_deletion_maps_have_a_table_of_their_own():
    fillings = {"black": 0.3, "mean": 0.25, "noise": 0.4, "blur": 0.1, "inpaint": 0.2}
    plain = model().proxies[0]
    controlled = plain.model_copy(
        update={
            "nsc": 0.02,
            "random": 0.01,
            "random_ci95": (-0.05, 0.1),
            "random_masks": 19,
            "controlled": 20,
            "fillings": fillings,
            "beats": Beats(nsc=True, random=True, fillings=False),
        }
    )
    card = score_audit(audit({"sgd-seed1": model([finding()], proxies=(plain, controlled))}), timeline())
    tables = study_tables(card)
    assert len(tables["proxies"].rows) == 2
    (row,) = tables["proxy_controls"].rows
    shown = [cell.text for cell in row[4:]]
    assert shown == ["+0.300 proxy", "+0.020", "+0.010", "[−0.050, +0.100]", "+0.100 to +0.400", "2 of 3"]
    assert row[8].tone == "warning"
    assert tables["proxy_controls"].values[0]["filling_blur"] == 0.1
    assert isinstance(study_tables(score_audit(audit({"sgd-seed1": model()}), timeline()))["proxy_controls"], Missing)


def test_rates_that_were_not_measured_are_said_to_be():
    assert "the detection rate has not been measured yet" in judge(model(), ErrorRates()).sentences[0]
    assert error_rates.measured_rates() is not None  # the file that we ship is valid


def test_the_card_knows_every_model_and_its_json_obeys_its_schema():
    both = audit({"sgd-seed1": model([finding()]), "scratch-seed1": model()})
    card = score_audit(both, timeline((("sgd", 1), ("scratch", 1))))
    assert {name: one.verdict.name for name, one in card.methods.items()} == {
        "sgd-seed1": "localised cue",
        "scratch-seed1": "nothing found",
    }
    stored = card.to_json()
    jsonschema.validate(stored, AuditCard.json_schema())
    assert stored["methods"]["sgd-seed1"]["findings"][0]["class"] == 3
    assert answer(card)[0] == "Of 2 models: a localised cue was found in 1; nothing was found in 1."


def test_checks_catch_other_images_wrong_lists_and_small_classes():
    passed = {
        check.name: check.passed for check in score_audit(audit({"sgd-seed1": model([finding()])}), timeline()).checks
    }
    assert set(passed.values()) == {True}
    wrong = score_audit(audit({"sgd-seed1": model([SUSPICION])}), timeline(accuracy=0.5)).checks
    failed = {check.name for check in wrong if check.passed is False}
    assert failed == {
        "a second pass over the images reproduces the audit's accuracy",
        "every finding beats all three controls, and no suspicion does",
    }


def test_tables_say_proxy_with_every_delta_and_keep_full_numbers():
    relative = RelativeRow(
        model="sgd-seed1",
        baseline="b",
        label=3,
        mask="box",
        area=0.1,
        delta=0.4,
        delta_baseline=0.1,
        sfr_rel=0.3,
        ci95=None,
        n=9,
    )
    row = DataWindow(label=3, box=(0, 0, 7, 7), property=None, value=0.9, null=0.1, elsewhere=0.2, alarm=True)
    card = score_audit(audit({"sgd-seed1": model([finding()])}, relative=(relative,), data=(row,)), timeline())
    tables = study_tables(card)
    assert all(isinstance(table, Table) for name, table in tables.items() if name != "proxy_controls")
    assert tables["findings"].rows[0][8].text == "+0.352 proxy"
    assert tables["relative"].rows[0][7].text == "+0.300 proxy"
    assert tables["findings"].values[0]["delta"] == 0.352
    assert tables["data"].rows[0][-1].text == "yes"
    assert any("a single window identifies 'cat' (90.0 %" in sentence for sentence in answer(card))
    nothing = study_tables(score_audit(audit({"sgd-seed1": model()}), timeline()))
    assert isinstance(nothing["controls"], Missing)
    assert isinstance(nothing["relative"], Missing)


def test_files_of_tables_have_the_columns_of_all_rows():
    """A model without findings comes first, and a global cue has other fillings than a box."""
    found = audit({"scratch-seed1": model(), "sgd-seed1": model([finding()], [GLOBAL])})
    rows = timeline().frame
    both = Timeline(pd.concat([rows, rows.assign(method="scratch")], ignore_index=True))
    tables = study_tables(score_audit(found, both))
    for name in ("findings", "controls"):
        shown = pd.read_csv(io.StringIO(to_csv(tables[name])))
        columns = {f"filling_{one}" for one in (*finding().fillings, *GLOBAL.fillings)}
        assert columns <= set(shown.columns)
        assert len(shown) == len(tables[name].rows)


def test_a_folder_becomes_a_page_with_all_figures_the_same_each_time(tmp_path):
    write_audit(tmp_path, audit({"sgd-seed1": model([finding()], [GLOBAL])}))
    timeline().write(tmp_path / "timeline.csv")
    pictures = np.zeros((2, 32, 32, 3), dtype=np.uint8)
    np.savez(tmp_path / PICTURES_FILE, **{"0_0_images": pictures, "0_map_3": np.ones((32, 32), dtype=np.float32)})
    first = report_logs(tmp_path).page.read_bytes()
    text = first.decode()
    for words in (
        'id="bearing"',
        'id="controls"',
        'id="maps"',
        "localised cue",
        "1.6 % of the image",
        "Relative index",
    ):
        assert words in text
    assert report_logs(tmp_path).page.read_bytes() == first


def test_a_timeline_alone_or_a_broken_file_is_refused(tmp_path):
    timeline().write(tmp_path / "timeline.csv")
    with pytest.raises(InputError, match=r"holds no audit\.json: run 'einstellung audit' first"):
        score_logs([tmp_path])
    with pytest.raises(InputError, match="an audit needs more than its timeline"):
        score_logs([tmp_path / "timeline.csv"])
    (tmp_path / "audit.json").write_text('{"models": {}}')
    with pytest.raises(InputError, match=r"audit\.json is not the file of an audit: class_names"):
        score_logs([tmp_path])
