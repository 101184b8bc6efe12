"""`hookrunner module test`: modules and their hooks in one run, reports, goldens. Level: pure."""

from pathlib import Path
from xml.etree import ElementTree as Xml

import orjson
import pytest

from tests.fakes.command_line import Command

HOOK = """#!/bin/sh
if [ "$1" = --config ]; then echo '{"configVersion": "v1", "beforeHelm": 1}'; exit; fi
echo '[{"op": "add", "path": "/dns/zone", "value": "hook"}]' > "$VALUES_JSON_PATCH_PATH"
"""
HOOK_CASES = "- {name: the hook sets the zone, when: {event: Lifecycle}, expect: {values: {dns: {zone: hook}}}}"
CASES = """# a comment that stays
- name: the zone is rendered
  given: {values: {dns: {zone: a}}}
  expect: {objects: [{data: {zone: b}}]}
- name: nothing is expected yet
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {
        "templates/dns.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dns}\n"
        "data: {zone: {{ .Values.dns.zone | quote }}}\n",
        "hooks/zone.sh": HOOK,
        "hooks/zone.sh.test.yaml": HOOK_CASES,
        "tests/dns.test.yaml": CASES,
    }
    for name, text in files.items():
        path = tmp_path / "modules/010-dns" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "modules/010-dns/hooks/zone.sh").chmod(0o755)
    hidden = tmp_path / "modules/020-web/hooks/.venv"
    hidden.mkdir(parents=True)
    (hidden / "foreign.sh.test.yaml").write_text("not our cases")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "modules"


@pytest.mark.slow
def test_failures_are_reported_and_accepted_by_update(modules: Path, command: Command) -> None:
    failed = command("module", "test", "--junit", "report.xml")
    assert failed.code == 1
    assert "-  zone: b" in failed.out
    assert "2 passed, 1 failed" in failed.out
    suites = Xml.parse("report.xml").getroot()
    assert [(one.get("name"), one.get("failures")) for one in suites] == [
        ("modules/010-dns/tests/dns.test.yaml", "1"),
        ("modules/010-dns/hooks/zone.sh.test.yaml", "0"),
    ]
    assert "1 passed, 2 updated" in command("module", "test", "--update").out
    text = (modules / "010-dns/tests/dns.test.yaml").read_text()
    assert text.startswith("# a comment that stays")
    passed = command("module", "test", "-o", "json")
    assert passed.code == 0
    assert [one["passed"] for one in orjson.loads(passed.out)["cases"]] == [True] * 3


def test_directories_are_given_as_for_other_commands(
    modules: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = modules.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    ended_by_flag = command("module", "test", "--modules-dir", "../modules:../modules/010-dns", "-k", "hook sets")
    assert (ended_by_flag.code, "1 passed" in ended_by_flag.out) == (0, True), "each module once"
    missing = command("module", "test")
    assert (missing.code, "there is no directory 'modules'; name a DIR, or --modules-dir DIR" in missing.err) == (
        2,
        True,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("modules --modules-dir nowhere", "there is no directory 'nowhere'"),
        ("modules -k absent", "no case has 'absent' in its name"),
        ("modules/010-dns/templates", "there is no module in it"),
        ("empty", "no test cases"),
    ],
)
def test_no_test_cases_is_bad_usage(words: str, message: str, modules: Path, command: Command) -> None:
    (modules.parent / "empty/hooks").mkdir(parents=True)
    ended = command("module", "test", *words.split())
    assert ended.code == 2
    assert message in ended.err
