"""The gate's answer as JUnit XML: one test case a limit, for the test reports of CI systems."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from einstellung.gating.result import GateResult, OnInconclusive, Verdict
from einstellung.gating.tables import comparison
from einstellung.gating.verdict import DEPLOYED, FLIPS, RELIANCE, flip_words, reliance_words

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(result: GateResult, inconclusive: OnInconclusive = "report") -> str:
    """A failed limit is a failure; an inconclusive one is skipped, or what ``inconclusive`` counts it as."""
    suites = ElementTree.Element("testsuites", name="einstellung gate")
    suite = ElementTree.SubElement(suites, "testsuite", name="einstellung gate")
    counts = {"failures": 0, "skipped": 0}
    for check, verdict in result.checks.items():
        case = ElementTree.SubElement(suite, "testcase", classname="einstellung.gate", name=check, time="0")
        said = _clean(_words(result, check, verdict))
        counted = inconclusive if verdict == "inconclusive" and inconclusive != "report" else verdict
        if counted == "fail":
            counts["failures"] += 1
            ElementTree.SubElement(case, "failure", message=said, type=verdict).text = said
        elif counted == "inconclusive":
            counts["skipped"] += 1
            ElementTree.SubElement(case, "skipped", message=said)
        else:
            ElementTree.SubElement(case, "system-out").text = said
    ElementTree.SubElement(suite, "system-out").text = _clean(_plain_table(result))
    for element in (suites, suite):
        for name, value in {
            "tests": len(result.checks),
            "failures": counts["failures"],
            "errors": 0,
            "time": 0,
        }.items():
            element.set(name, str(value))
    suite.set("skipped", str(counts["skipped"]))  # which the element of all suites does not have
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _words(result: GateResult, check: str, verdict: Verdict) -> str:
    if check == RELIANCE:
        return reliance_words(verdict, result.rise, result.ci95, result.n, result.limits.max_delta)
    assert check == FLIPS
    assert result.limits.max_flips is not None
    return flip_words(verdict, result.flips[DEPLOYED], result.limits.max_flips)


def _plain_table(result: GateResult) -> str:
    table = comparison(result)
    return "\n".join("\t".join(cell.text for cell in row) for row in table.rows)


def _clean(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return _NO_XML.sub("?", text)
