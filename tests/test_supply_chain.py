"""What comes from elsewhere is pinned by hash: for image, CI and the tools of both. And what pip-audit says."""

import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.tables import each

ROOT = Path(__file__).parents[1]
PINNED = sorted((ROOT / "requirements").glob("*.txt"))
AUDIT = ROOT / ".ci" / "audit.py"
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
FETCHING = re.compile(r"\bpip (?:install|download|wheel)\b[^&\n]*")


def entries(file: Path) -> list[str]:
    """One requirement with its hashes each."""
    text = file.read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def versions(name: str) -> dict[str, set[Version]]:
    found: dict[str, set[Version]] = {}
    for entry in entries(ROOT / "requirements" / f"{name}.txt"):
        pinned = Requirement(entry.partition("--hash")[0])
        (only,) = pinned.specifier
        assert only.operator == "=="
        found.setdefault(canonicalize_name(pinned.name), set()).add(Version(only.version))
    return found


def declared(*extras: str) -> list[Requirement]:
    """What setup.cfg asks for."""
    config = ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    lists = [config["options"]["install_requires"], *(config["options.extras_require"][extra] for extra in extras)]
    lines = [line.strip() for text in lists for line in text.splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "%"))]


@each("file", PINNED, ids=lambda file: file.name)
def test_every_package_has_one_version_and_hashes(file: Path) -> None:
    assert entries(file)
    assert [entry for entry in entries(file) if "==" not in entry or "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize(("name", "extras"), [("image", ("cel",)), ("ci", ("cel", "test", "dev"))])
def test_requirements_of_setup_cfg_are_pinned(name: str, extras: tuple[str, ...]) -> None:
    pinned = versions(name)
    wrong = [
        str(wanted)
        for wanted in declared(*extras)
        if not all(
            version in wanted.specifier for version in pinned.get(canonicalize_name(wanted.name), {Version("0")})
        )
    ]
    assert wrong == [], "run .ci/renew"


def test_the_image_has_the_versions_that_were_tested() -> None:
    tested = versions("ci")
    assert {name: found for name, found in versions("image").items() if tested.get(name) != found} == {}


def test_the_image_gets_nothing_from_an_index_without_a_hash() -> None:
    commands = FETCHING.findall(DOCKERFILE)
    assert len(commands) == 5
    assert [words for words in commands if "--require-hashes" not in words and "--no-index" not in words] == []


def test_an_image_of_ones_own_installs_by_hash_too() -> None:
    page = (ROOT / "docs" / "image.md").read_text()
    commands = re.findall(r"pip install [^\\\n]*", page)
    assert [words for words in commands if "--require-hashes" not in words and "--no-deps" not in words] == []
    assert "COPY --from=wheels /requirements/image.txt /usr/local/share/hookrunner/" in DOCKERFILE


def test_every_stage_of_the_image_begins_with_what_a_build_can_pin_by_digest() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert set(bases) == {"${PYTHON_IMAGE}"}
    assert "--build-arg PYTHON_IMAGE=" in (ROOT / "docs" / "image.md").read_text()


@pytest.mark.parametrize(("script", "count"), [("run", 6), ("release", 3)])
def test_ci_gets_nothing_from_an_index_without_a_hash(script: str, count: int) -> None:
    text = "".join(line for line in (ROOT / ".ci" / script).read_text().splitlines(True) if "echo" not in line)
    commands = re.findall(r"^.*\bpip\"? (?:--python \S+ )?(?:install|download)\b.*$", text, re.MULTILINE)
    assert len(commands) == count
    assert [words for words in commands if "--require-hashes" not in words and "PIP_NO_INDEX=1" not in words] == []


def test_tools_of_the_tests_are_pinned_like_those_of_the_image() -> None:
    code = "".join(file.read_text() for file in (ROOT / "tests" / "controlplane").glob("*.py"))
    assert "--require-hashes" in code
    assert set(re.findall(r'pip_install\("([^"]+)"', code)) <= {file.stem for file in PINNED}
    assert "/requirements/kubectl.txt" in DOCKERFILE


def audit(tmp_path: Path, report: str) -> tuple[int, str]:
    """The check with a pip-audit that says this."""
    (program := tmp_path / "pip-audit").write_text(f"#!/bin/sh\ncat <<'END'\n{report}\nEND\n")
    program.chmod(0o755)
    done = subprocess.run([sys.executable, AUDIT, program, "x.txt"], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_known_vulnerability_fails_the_check_and_names_the_fix(tmp_path: Path) -> None:
    weak = '{"name": "jq", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}]}'
    report = f'{{"dependencies": [{weak}, {{"name": "x", "version": "1", "vulns": []}}]}}'
    assert audit(tmp_path, report) == (1, "jq 1.0: PYSEC-1, mended in 1.1\n")


def test_a_clean_check_reports_the_number_of_packages(tmp_path: Path) -> None:
    report = '{"dependencies": [{"name": "x", "version": "1", "vulns": []}, {"name": "y", "skip_reason": "z"}]}'
    assert audit(tmp_path, report) == (0, "1 of 2 packages have no known weakness\n")


@pytest.mark.parametrize("report", ["", "[]", '{"dependencies": [{"name": "y", "skip_reason": "not on PyPI"}]}'])
def test_without_an_answer_the_check_is_skipped_and_says_so(report: str, tmp_path: Path) -> None:
    code, said = audit(tmp_path, report)
    assert code == 0
    assert said.startswith("skipped: ")


def test_without_pip_audit_the_check_is_skipped_and_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, AUDIT, tmp_path / "none", "x.txt"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("skipped: ")
