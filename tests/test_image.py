"""The Dockerfile's structure only: no image can be built where these tests run, so they do not prove that it works."""

import re
from pathlib import Path

import pytest

from hookrunner.settings import load

ROOT = Path(__file__).parents[1]
INSTRUCTIONS = [
    line.split(maxsplit=1)
    for line in (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    if line and not line.startswith("#")
]


def last(instruction: str) -> str:
    return [text for word, text in INSTRUCTIONS if word == instruction][-1]


def copied() -> list[str]:
    """Sources of COPY that come from the checkout."""
    lines = [text.split() for word, text in INSTRUCTIONS if word == "COPY" and "--from=" not in text]
    return [source for *sources, _target in lines for source in sources]


@pytest.mark.parametrize("source", copied())
def test_what_is_copied_is_there(source: str) -> None:
    assert (ROOT / source).exists()


def test_what_the_package_needs_to_be_built_is_copied() -> None:
    assert {"setup.cfg", "pyproject.toml", "README.md", "LICENSE", "hookrunner"} <= set(copied())


def test_nothing_that_is_copied_is_kept_from_the_build() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*"
    assert {line.removeprefix("!") for line in ignored[1:] if line.startswith("!")} == set(copied())


def test_the_user_is_a_number_and_not_root() -> None:
    """Kubernetes can check `runAsNonRoot` only of a number."""
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last("USER"))


def test_the_user_is_the_charts() -> None:
    user = last("USER").split(":")[0]
    assert f"runAsUser: {user}" in (ROOT / "charts/hookrunner/templates/_pod.tpl").read_text()


def test_tini_starts_the_program() -> None:
    assert last("ENTRYPOINT") == '["/sbin/tini", "--", "/usr/local/bin/hookrunner"]'
    assert last("CMD") == '["start"]'


def test_the_predecessors_names_are_there() -> None:
    text = " ".join(text for _, text in INSTRUCTIONS)
    names = ["/shell-operator", "/addon-operator", "/shell_lib.sh", "/frameworks/shell", "/hooks"]
    assert [name for name in names if f" {name}" not in text] == []
    assert re.search(r"apt-get install .*\bbash\b.*\bca-certificates\b.*\bcurl\b.*\bjq\b.*\btini\b", text)


def test_the_ports_that_the_program_listens_on_by_itself_are_exposed() -> None:
    settings = load({}, "hookrunner", {})
    ports = [settings.web.port, settings.validating.port, settings.conversion.port]
    assert last("EXPOSE") == " ".join(map(str, ports))
