"""New providers work as they are. Level: pure."""

import subprocess
from pathlib import Path

import pytest

from hookrunner.errors import BadInput
from hookrunner.testing.starters.hook_starter import LANGUAGES
from hookrunner.testing.starters.provider_starter import write_provider
from tests.providers.provider_calls import ask, node


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_new_provider_knows_three_machines(tmp_path: Path, language: str) -> None:
    provider = write_provider("my-cloud", language, tmp_path / "providers")
    capabilities = ask(provider, tmp_path, "capabilities")["result"]
    assert (capabilities["providerName"], capabilities["interfaces"]["instances"]) == ("my-cloud", True)
    nodes = [
        node("worker-1"),
        node("x", "my-cloud://m-3"),
        node("y", "my-cloud://m-9"),
        node("z"),
        node("k", "kind://k"),
    ]
    entries = ask(provider, tmp_path, "instances", {"nodes": nodes, "want": ["state", "metadata"]})["result"][
        "instances"
    ]
    assert {entry["name"]: entry["state"] for entry in entries} == {
        "worker-1": "running",
        "x": "running",
        "y": "notFound",
        "z": "skip",
        "k": "skip",
    }
    assert entries[0]["providerID"] == "my-cloud://m-1"
    assert ask(provider, tmp_path, "lb-list")["error"]["code"] == "NotImplemented"


def test_a_new_provider_in_shell_has_no_mistake_that_shellcheck_finds(tmp_path: Path) -> None:
    subprocess.run(["shellcheck", write_provider("my-cloud", "bash", tmp_path)], check=True)


@pytest.mark.parametrize("name", ["My Cloud", "../up", "a_b", "-a", "", "a" * 64])
def test_a_name_that_is_no_scheme_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="can be no provider's name"):
        write_provider(name, "bash", tmp_path)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(BadInput, match="is there already"):
        write_provider("mine", "bash", tmp_path)
    assert (tmp_path / "mine").read_text() == "kept"
