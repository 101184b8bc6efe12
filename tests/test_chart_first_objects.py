"""The script of the Job that creates the first objects of addons, with a kubectl that gives the answers of a list.

Level: pure."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

RENDERED = Path(__file__).parent / "rendered_charts" / "modules-and-addons.yaml"
KUBECTL = """#!/bin/sh
echo "$1" >> "$ASKED"
[ "$1" = create ] || exit 0
answer=$(head -n 1 "$ANSWERS")
sed -i 1d "$ANSWERS"
echo "$answer"
[ "$answer" = created ]
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Variables of a Pod with one object to create, where a pause takes no time."""
    (programs := tmp_path / "bin").mkdir()
    for name, text in {"kubectl": KUBECTL, "sleep": "#!/bin/sh\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (tmp_path / "coredns.json").write_text("{}")
    files = {"ASKED": str(tmp_path / "asked"), "ANSWERS": str(tmp_path / "answers"), "INSTANCES": str(tmp_path)}
    return {**files, "PATH": f"{programs}:{os.environ['PATH']}", "CONFIG_MAP": "first", "NAMESPACE": "default"}


def run(environ: dict[str, str], *answers: str) -> tuple[int, list[str]]:
    """The exit code after these answers to attempts to create the object, and what kubectl was asked."""
    (job,) = (obj for obj in yaml.safe_load_all(RENDERED.read_text()) if obj["kind"] == "Job")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    Path(environ["ANSWERS"]).write_text("".join(f"{answer}\n" for answer in answers))
    done = subprocess.run([*container["command"], *container["args"]], env=environ, capture_output=True, timeout=30)
    return done.returncode, Path(environ["ASKED"]).read_text().split()


UNDECIDED = [
    'error: resource mapping not found: no matches for kind "CoreDNS"',
    "Unable to connect to the server: dial tcp 10.0.0.11:6443: connect: connection refused",
    "error: error validating data: failed to check CRD: failed to list CRDs: it is forbidden",
    "Error from server (ServiceUnavailable): the server is currently unable to handle the request",
]


@pytest.mark.slow
def test_an_object_is_created_as_soon_as_the_server_decides(environ: dict[str, str]) -> None:
    """Attempts are not counted: the Job is over after a few failures of its Pod."""
    assert run(environ, *UNDECIDED, *UNDECIDED, "created") == (0, ["create"] * 9 + ["patch"])


@pytest.mark.parametrize(
    "answer",
    [
        'The CoreDNS "default" is invalid: spec.replicas: Invalid value: 0',
        'Error from server (BadRequest): strict decoding error: unknown field "spec.replica"',
        "Error from server (Forbidden): exceeded quota",
    ],
)
def test_a_refused_object_ends_the_pod(answer: str, environ: dict[str, str]) -> None:
    assert run(environ, answer, "created") == (1, ["create"])


def test_an_object_that_exists_is_noted(environ: dict[str, str]) -> None:
    answer = 'Error from server (AlreadyExists): coredns "default" already exists'
    assert run(environ, answer) == (0, ["create", "patch"])
