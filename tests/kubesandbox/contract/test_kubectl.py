"""kubectl prints on the sandbox what it prints on the real control plane: `scripts/*.sh`, recorded there.

A script's first line, `# says: …`, is what must be printed on each, so that two equal failures are no success. `$X` is
a name, `$GROUP` an API group and `$NS` the namespace of the script's own; `kubectl` is called with that namespace.

Level: control plane.
"""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubesandbox.contract.api import Api
from tests.kubesandbox.recording import TIME, UID, Recording, digest

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.sh"))
PREAMBLE = """
exec 2>&1
trap 'echo "[exit $?]"' ERR
kubectl() { command kubectl --namespace "$NS" "$@"; }
"""
DIFFERENT_EACH_TIME = [
    (re.compile(r"^[WE]\d{4} .*reflector.go.*\n", re.MULTILINE), ""),
    (TIME, "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d"), "TIME"),
    (UID, "UID"),
    (re.compile(r"\b10\.96\.\d+\.\d+\b"), "ADDRESS"),
    (re.compile(r'(resourceVersion"?: ?)"\d+"'), r"\1RV"),
    (re.compile(r"(?<=[ \t])(\d+[ydhms]){1,2}(?=\s|$)", re.MULTILINE), "AGE"),
    (re.compile(r"/\S*/(?=[\w.]+\.yaml)"), ""),
    # The patched object is printed in an order of its own.
    (re.compile(r".* is invalid: patch: Invalid value: .*"), "PATCH REFUSED"),
    (re.compile(r"[ \t]+"), " "),
]


def transcript(api: Api, script: Path, directory: Path) -> str:
    """What the script prints, with what is the server's own or different each time replaced."""
    directory.mkdir()
    suffix = secrets.token_hex(4)
    words = {"NS": api.namespace(), "X": f"x{suffix}", "GROUP": f"g{suffix}.example.com"}
    command = ["bash", "-c", f"cd {directory}\n{PREAMBLE}{script.read_text()}"]
    _, printed, _ = api.shell(command, env=words)
    for word, value in words.items():
        printed = printed.replace(value, f"${word}")
    for pattern, replacement in DIFFERENT_EACH_TIME:
        printed = pattern.sub(replacement, printed)
    return printed


@pytest.fixture(scope="module")
def printed(api: Api, request: pytest.FixtureRequest) -> Iterator[Recording]:
    """What the scripts print on the real control plane."""
    recording = Recording("contract.kubectl")
    yield recording
    if api.name == "real":
        recording.finish(request.config.getoption("live"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_kubectl_prints_the_same(api: Api, printed: Recording, script: Path, tmp_path: Path) -> None:
    text = script.read_text()
    question, shown = f"{script.stem} {digest(text)}", transcript(api, script, tmp_path / api.name)
    assert text.splitlines()[0].removeprefix("# says: ") in shown
    if api.name == "real":
        printed.note(question, shown)
    else:
        assert shown == printed.answer(question)
