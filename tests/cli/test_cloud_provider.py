"""`hookrunner cloud check` and `cloud call`: a provider as its author sees it. Level: pure."""

import json
from pathlib import Path

import pytest
from click.shell_completion import CompletionItem, ShellComplete

from hookrunner.cli.main import cli
from hookrunner.testing.starters.provider_starter import write_provider
from tests.fakes.command_line import Command

NODE = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: worker-2}, spec: {}}
- {apiVersion: v1, kind: Node, metadata: {name: other}, spec: {providerID: my-cloud://m-9}}
"""


@pytest.fixture
def provider(tmp_path: Path) -> Path:
    return write_provider("my-cloud", "bash", tmp_path)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken"
    path.write_text('#!/bin/sh\necho "token is $MY_TOKEN" >&2\necho usage: broken\n')
    path.chmod(0o755)
    return path


def completed(words: list[str], typed: str) -> list[CompletionItem]:
    """What a shell offers for the last word."""
    return ShellComplete(cli, {}, "hookrunner", "_X").get_completions(words, typed)


def test_new_provider_says_what_to_do_next(command: Command, tmp_path: Path) -> None:
    begun = command("new", "provider", "rack", "--lang", "python", "--dir", str(tmp_path))
    assert begun.code == 0
    assert f"hookrunner cloud check {tmp_path}/rack --node worker-1 " in begun.out
    again = command("new", "provider", "rack", "--dir", str(tmp_path))
    assert (again.code, "is there already" in again.err) == (2, True)


@pytest.mark.slow
def test_check_says_that_a_new_provider_is_right(command: Command, provider: Path) -> None:
    checked = command("cloud", "check", str(provider), "--node", "worker-1", "--node", "worker-3")
    assert checked.code == 0, checked.out
    assert "ok        metadata           ids, labels and addresses can be written to a Node\n" in checked.out
    assert "skipped   lb-life            it does not offer loadBalancer\n" in checked.out
    assert checked.err == "my-cloud: 27 ok, 10 skipped\n"


def test_check_names_what_is_wrong_and_ends_with_1(
    command: Command, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "correct-horse-battery-staple")
    checked = command("cloud", "check", str(broken), "--cloud-env", "MY_TOKEN", "-o", "json")
    assert checked.code == 1
    rules = {entry["rule"]: entry for entry in json.loads(checked.out)}
    assert {name for name, entry in rules.items() if entry["status"] == "broken"} == {
        "capabilities",
        "one-document",
        "secrets",
    }
    assert "is not JSON: 'usage: broken'" in rules["one-document"]["texts"][0]


def test_call_shows_request_and_answer(command: Command, provider: Path, tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text(NODE)
    nodes = ["--node", "worker-1", "--node", str(tmp_path / "nodes.yaml")]
    called = command("cloud", "call", str(provider), "instances", *nodes)
    assert called.code == 0, called.err
    entries = json.loads(called.out)["result"]["instances"]
    assert [entry["state"] for entry in entries] == ["running", "running", "notFound"]
    assert '"verb": "instances"' in called.err
    assert "\n\n" not in called.err, "the provider has logged nothing"


def test_call_prints_schemas(command: Command, provider: Path) -> None:
    schemas = json.loads(command("cloud", "call", str(provider), "lb-get", "--schema").out)
    assert schemas.keys() == {"request", "answer"}


def test_call_hides_secrets_and_says_what_is_no_answer(
    command: Command, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "correct-horse-battery-staple")
    called = command("cloud", "call", str(broken), "capabilities", "--cloud-env", "MY_TOKEN")
    assert called.code == 1
    assert "correct-horse" not in called.out + called.err
    assert "broken: one-document: capabilities: its output is not JSON" in called.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("call {provider} lb-ensure", "lb-ensure is about a Service: give --service FILE"),
        ("call {provider} instances --node missing.yaml", "missing.yaml"),
        ("call {provider} lb-get --service {nodes}", "there is no object of kind Service in it"),
        ("call {provider} lb-put", "'lb-put' is not one of 'capabilities', 'instances'"),
        ("check missing", "(--providers-dir); give its path, or its directory"),
        ("check ./missing", "missing"),
    ],
)
def test_a_mistake_on_the_command_line_ends_with_2(
    command: Command, provider: Path, tmp_path: Path, words: str, message: str
) -> None:
    (tmp_path / "nodes.yaml").write_text(NODE)
    ended = command("cloud", *words.format(provider=provider, nodes=tmp_path / "nodes.yaml").split())
    assert (ended.code, message in ended.err) == (2, True), ended.err


@pytest.mark.parametrize(
    "words",
    [
        "cloud check --providers-dir DIR",
        "cloud call --providers-dir DIR",
        "start --providers-dir DIR --cloud-provider",
        "cloud start --providers-dir DIR --cloud-provider",
        "cloud clean --providers-dir DIR --cloud-provider",
    ],
)
def test_completion_offers_the_providers_of_the_directory_or_files(words: str, provider: Path) -> None:
    (provider.parent / "README").write_text("no provider")
    (provider.parent / "lib").mkdir()
    split = words.replace("DIR", str(provider.parent)).split()
    assert [item.value for item in completed(split, "")] == ["my-cloud"]
    assert [item.value for item in completed(split, "my-")] == ["my-cloud"]
    assert [(item.value, item.type) for item in completed(split, "./my")] == [("./my", "file")]
    assert [(item.value, item.type) for item in completed(split, "other")] == [("other", "file")]


def test_completion_offers_files_without_a_providers_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [item.type for item in completed(["cloud", "check"], "")] == ["file"]
