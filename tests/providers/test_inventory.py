"""Machines in a YAML file, as a cloud. Level: pure."""

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.providers.provider_calls import PROVIDERS, ask, load_provider, node, request, service

MACHINES = """
    region: home
    machines:
    - name: rack-1
      zone: rack-a
      type: dell
      addresses: {InternalIP: [10.0.0.11, "2001:db8::11"]}
      labels: {disk: ssd}
    - {name: rack-2, decommissioned: true}
    - {label: {rack: b, slot: "3"}, id: b3}
    - {mac: "52:54:00:AB:CD:EF", region: away}
"""


INVENTORY = PROVIDERS / "inventory"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four machines, as the file of CLOUD_CONFIG."""
    written = tmp_path / "machines.yaml"
    written.write_text(dedent(MACHINES))
    monkeypatch.setenv("CLOUD_CONFIG", str(written))
    return written


def asked(verb: str, params: Any = None) -> Any:
    answer = load_provider(INVENTORY).answer_request(verb, request(verb, params))
    return answer["result"] if "result" in answer else answer["error"]


def test_a_call_is_a_process(file: Path) -> None:
    assert ask(INVENTORY, file, "capabilities")["result"]["providerIDPrefixes"] == ["inventory://"]


def instances(*nodes: Any) -> dict[str, Any]:
    answer = asked("instances", {"nodes": nodes, "want": ["state", "metadata"]})
    return {entry.pop("name"): entry for entry in answer["instances"]}


@pytest.mark.usefixtures("file")
def test_a_node_is_known_by_its_id_name_label_or_mac() -> None:
    found = instances(
        node("rack-1"),
        node("renamed", "inventory://rack-1"),
        node("c", labels={"rack": "b", "slot": "3", "other": "x"}),
        node("d", annotations={"inventory.hookrunner.io/mac": "52-54-00-ab-cd-ef"}),
    )
    assert {name: entry["providerID"] for name, entry in found.items()} == {
        "rack-1": "inventory://rack-1",
        "renamed": "inventory://rack-1",
        "c": "inventory://b3",
        "d": "inventory://52-54-00-ab-cd-ef",
    }
    assert (
        found["rack-1"]
        == found["renamed"]
        == {
            "state": "running",
            "providerID": "inventory://rack-1",
            "instanceType": "dell",
            "zone": "rack-a",
            "region": "home",
            "addresses": [
                {"type": "InternalIP", "address": "10.0.0.11"},
                {"type": "InternalIP", "address": "2001:db8::11"},
            ],
            "additionalLabels": {"disk": "ssd"},
        }
    )


def test_the_example_of_the_page_is_right(file: Path) -> None:
    page = (PROVIDERS.parent / "docs" / "shipped-providers.md").read_text()
    (example,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    file.write_text(example)
    assert asked("capabilities")["interfaces"]["loadBalancer"]


@pytest.mark.usefixtures("file")
def test_only_a_decommissioned_machine_is_gone() -> None:
    found = instances(node("rack-2"), node("x", "inventory://forgotten"), node("y"), node("z", "other://z"))
    assert [entry["state"] for entry in found.values()] == ["notFound", "unknown", "skip", "skip"]


@pytest.mark.usefixtures("file")
def test_a_node_of_two_machines_is_unknown() -> None:
    (found,) = instances(node("rack-1", labels={"rack": "b", "slot": "3"})).values()
    assert (found["state"], found["message"]) == ("unknown", "several machines are of this Node: rack-1, b3")


def test_the_power_command_is_asked_about_nodes_that_are_not_ready(tmp_path: Path, file: Path) -> None:
    power = tmp_path / "power"
    power.write_text(
        '#!/bin/sh\necho "$1" >> "$0.log"; case $1 in a) echo Power is ON;; b) echo off;; c) exit 1;; esac\n'
    )
    power.chmod(0o755)
    machines = [{"name": name} for name in "abcde"]
    file.write_text(str({"powerCommand": [str(power), "{name}"], "machines": machines}))
    found = instances(*map(node, "abcd"), node("e", ready=True))
    states = {name: entry["state"] for name, entry in found.items()}
    assert states == {"a": "running", "b": "shutdown", "c": "unknown", "d": "unknown", "e": "running"}
    assert sorted((tmp_path / "power.log").read_text().split()) == ["a", "b", "c", "d"]


BALANCERS = """
    machines: []
    loadBalancers: {{addresses: [192.0.2.1-192.0.2.2], state: {state}, command: [{command}]}}
"""


@pytest.fixture
def balancers(tmp_path: Path, file: Path) -> Path:
    """An inventory with two addresses and a command that can be made to fail."""
    command = tmp_path / "announce"
    command.write_text('#!/bin/sh\necho "$1" >> "$0.log"; [ ! -e "$0.broken" ] || { echo no route >&2; exit 4; }\n')
    command.chmod(0o755)
    file.write_text(dedent(BALANCERS.format(state=tmp_path / "state.json", command=command)))
    return file


def balance(verb: str, name: str, **spec: Any) -> Any:
    return asked(verb, {"service": service(name, **spec), "name": name, "nodes": []})


@pytest.mark.usefixtures("balancers")
def test_services_get_addresses_of_the_pool_and_keep_them() -> None:
    assert asked("capabilities")["interfaces"]["loadBalancer"]
    first = balance("lb-ensure", "a")
    assert first == balance("lb-ensure", "a") == {"status": {"ingress": [{"ip": "192.0.2.1"}]}}
    assert balance("lb-ensure", "b", loadBalancerIP="192.0.2.1")["code"] == "Invalid"
    assert balance("lb-ensure", "b")["status"]["ingress"] == [{"ip": "192.0.2.2"}]
    assert balance("lb-ensure", "c")["message"].startswith("all 2 addresses are in use")
    assert len(asked("lb-list")["loadBalancers"]) == 2


@pytest.mark.usefixtures("balancers")
def test_an_address_is_free_only_when_the_command_has_withdrawn_it(tmp_path: Path) -> None:
    balance("lb-ensure", "a")
    (tmp_path / "announce.broken").touch()
    failed = balance("lb-delete", "a")
    assert failed["message"] == "`delete` of loadBalancers.command: exit status 4: no route"
    assert balance("lb-get", "a")["exists"]
    (tmp_path / "announce.broken").unlink()
    assert balance("lb-delete", "a") == balance("lb-delete", "a")
    assert not balance("lb-get", "a")["exists"]
    assert (tmp_path / "announce.log").read_text().split() == ["ensure", "delete", "delete"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("machines: [", "while parsing a flow node"),
        ("[]", "it must have a list `machines`"),
        ("machine: []", "the file: unknown key 'machine'; there are loadBalancers, machines"),
        ("machines: [{zone: a}]", "machines[0]: it needs `name`, `label` or `mac`"),
        ("machines: [{name: a, decomissioned: true}]", "machines[0]: unknown key 'decomissioned'"),
        (
            "machines: [{name: a, decommissioned: 'no'}]",
            "machines[0].decommissioned: it must be true or false, not 'no'",
        ),
        ("machines: [{mac: 52:54:00:12:34:56}]", "machines[0].mac: it must be a text, not"),
        ("machines: [{label: {slot: 7}}]", "machines[0].label.slot: it must be a text, not 7; put it in quotes"),
        ("machines: [{name: a, labels: x}]", "machines[0].labels: it must be a mapping"),
        ("machines: [{name: a, addresses: [10.0.0.1]}]", "machines[0].addresses: it must be a mapping"),
        ("machines: [a]", "machines[0]: it must be a mapping"),
        ("machines: [{name: a}, {name: b, id: a}]", "two machines have the id 'a'"),
        ("machines: [{name: a, addresses: {InternalIP: nowhere}}]", "'nowhere' does not appear to be an IPv4 or IPv6"),
        (
            "machines: [{name: a, addresses: {Internal: 10.0.0.1}}]",
            "machines[0].addresses: 'Internal' is not an address",
        ),
        ("{machines: [], loadBalancers: {addresses: []}}", "loadBalancers needs `addresses`"),
    ],
)
def test_a_mistake_in_the_file_fails_every_call(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    refused = asked("instances", {"nodes": [node("a")], "want": ["state"]})
    assert refused["code"] == "Unavailable"
    assert str(file) in refused["message"]
    assert message in refused["message"]
