"""How one finding is printed in each format. Level: pure."""

import json

from hookrunner.linting import findings
from hookrunner.linting.findings import Finding

ONE = Finding("a, b:c.sh", 3, 7, "crlf", "100% wrong\nreally")


def test_text_is_one_line_a_finding_for_editors() -> None:
    assert findings.to_text([Finding("a.sh", 3, 7, "bom", "x"), Finding("b.sh", 1, 1, "refused", "y")]) == (
        "a.sh:3:7: bom warning: x\nb.sh:1:1: refused error: y\n"
    )


def test_json_is_an_array_also_of_nothing() -> None:
    assert json.loads(findings.to_json([])) == []
    assert json.loads(findings.to_json([ONE])) == [
        {
            "path": "a, b:c.sh",
            "line": 3,
            "column": 7,
            "code": "crlf",
            "severity": "warning",
            "text": "100% wrong\nreally",
        }
    ]


def test_github_gets_its_own_escapes() -> None:
    assert findings.to_github([ONE]) == (
        "::warning file=a%2C b%3Ac.sh,line=3,col=7,title=crlf::100%25 wrong%0Areally\n"
    )
