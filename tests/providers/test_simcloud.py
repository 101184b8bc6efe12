"""The simulated cloud: what it answers, how it fails on request, what a person can do with it. Level: pure."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from simcloud_lib.commands import main, names
from simcloud_lib.faults import CODES, MISBEHAVIOURS, spoil, take_faults
from simcloud_lib.frame import answer_request
from simcloud_lib.state import FIRST_INSTANCES, changing_state, read_state
from simcloud_lib.verbs import ANSWERS

from hookrunner.cloud.answers import ProviderError, Want
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.wire_answers import read_answer, result_of
from hookrunner.cloud.provider.wire_results import read_instances
from tests.providers.provider_calls import PROVIDERS, ask, node, request, service

SIMCLOUD = PROVIDERS / "simcloud"


@pytest.fixture(autouse=True)
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a cloud of this test's own."""
    file = tmp_path / "cloud.json"
    monkeypatch.setenv("CLOUD_CONFIG", str(file))
    return file


def answer(verb: str, params: Any = None) -> Any:
    return json.loads(answer_request(request(verb, params)))


def instances(*nodes: Any, want: tuple[str, ...] = ("state",)) -> dict[str, Any]:
    listed = answer("instances", {"nodes": nodes, "want": want})["result"]["instances"]
    return {entry["name"]: entry for entry in listed}


def test_a_call_is_a_process(cloud: Path) -> None:
    answered = ask(SIMCLOUD, cloud, "capabilities")
    assert (answered["requestID"], answered["result"]["providerName"]) == ("r1", "simcloud")


def test_serve_answers_line_by_line_and_ends_with_its_input(cloud: Path) -> None:
    asked = "".join(json.dumps(request("capabilities", request_id=name)) + "\n" for name in "abc")
    served = subprocess.run([SIMCLOUD, "serve"], input=asked, capture_output=True, text=True, check=True)
    assert sorted(json.loads(line)["requestID"] for line in served.stdout.splitlines()) == ["a", "b", "c"]


def test_an_instance_is_found_by_its_id_or_else_by_its_name() -> None:
    found = instances(node("worker-1"), node("renamed", "simcloud://i-0003"), want=("state", "metadata"))
    assert {name: entry["providerID"] for name, entry in found.items()} == {
        "worker-1": "simcloud://i-0002",
        "renamed": "simcloud://i-0003",
    }


def test_only_an_id_of_this_cloud_can_be_gone() -> None:
    main(["terminate", "worker-2"])
    found = instances(node("worker-2", "simcloud://i-0003"), node("worker-3"), node("a"), node("b", "kind://b"))
    assert [entry["state"] for entry in found.values()] == ["notFound", "running", "unknown", "skip"]


def test_a_machine_stops_starts_and_comes_again_as_another_one() -> None:
    main(["stop", "worker-1"])
    main(["rename-zone", "worker-1", "zone-b"])
    stopped = instances(node("worker-1"), want=("state", "metadata"))["worker-1"]
    assert (stopped["state"], stopped["zone"]) == ("shutdown", "zone-b")
    main(["terminate", "worker-1"])
    main(["add-instance", "worker-1"])
    again = instances(node("worker-1"), want=("state", "metadata"))["worker-1"]
    assert again["addresses"] == stopped["addresses"]
    assert again["providerID"] != stopped["providerID"]


def test_a_load_balancer_keeps_its_address() -> None:
    wanted = {"service": service(), "name": "a1", "nodes": [node("worker-1")]}
    first = answer("lb-ensure", wanted)["result"]
    assert first == {"status": {"ingress": [{"ip": "198.18.0.1", "ipMode": "VIP"}]}}
    assert answer("lb-delete", wanted)["result"] == answer("lb-delete", wanted)["result"] == {}
    assert answer("lb-get", wanted)["result"] == {"exists": False}
    assert answer("lb-update", wanted)["error"]["code"] == "NotFound"
    answer("lb-ensure", {**wanted, "name": "a2"})
    assert answer("lb-ensure", wanted)["result"] == first
    listed = answer("lb-list")["result"]["loadBalancers"]
    assert {entry["name"]: entry["service"] for entry in listed} == {"a1": "default/web", "a2": "default/web"}


def test_routes_are_deleted_first_and_created_once() -> None:
    route = {"targetNode": "worker-1", "targetNodeAddresses": [], "destinationCIDR": "10.0.1.0/24", "nameHint": "u"}
    assert answer("routes-apply", {"create": [route, route], "delete": []})["result"]["create"] == [{"ok": True}] * 2
    (listed,) = answer("routes-list")["result"]["routes"]
    moved = answer("routes-apply", {"create": [{**route, "targetNode": "worker-2"}], "delete": [listed]})["result"]
    assert moved == {"create": [{"ok": True}], "delete": [{"ok": True}]}
    taken = answer("routes-apply", {"create": [route], "delete": []})["result"]["create"]
    assert taken[0]["error"]["message"] == "10.0.1.0/24 leads to worker-2 already"


@pytest.mark.parametrize("code", CODES)
def test_a_call_fails_with_each_code_as_often_as_requested(code: str) -> None:
    main(["fail", "--verb", "lb-get", "--times", "1", "--code", code, "--retry-after", "7"])
    asked = {"service": service(), "name": "a1"}
    refused = answer("lb-get", asked)["error"]
    assert (refused["code"], refused["retryAfterSeconds"]) == (code, 7)
    assert answer("lb-get", asked)["result"] == {"exists": False}


def test_a_fault_meets_only_the_calls_that_it_names() -> None:
    main(["fail", "--verb", "instances", "--node", "worker-2"])
    main(["fail", "--verb", "lb-get", "--service", "default/web"])
    assert set(instances(node("worker-1"))) == {"worker-1"}
    assert answer("instances", {"nodes": [node("worker-1"), node("worker-2")], "want": []})["error"]
    assert "result" in answer("lb-get", {"service": service("other"), "name": "a1"})
    assert "error" in answer("lb-get", {"service": service("web"), "name": "a1"})
    main(["recover"])
    assert "result" in answer("lb-get", {"service": service("web"), "name": "a1"})


def test_entries_of_one_node_are_wrong_beside_right_ones() -> None:
    for number, what in enumerate(("forget", "double", "odd-state"), start=1):
        main(["fail", "--verb", "instances", "--node", f"worker-{number}", "--code", what])
    answered = answer("instances", {"nodes": [node(name) for name in FIRST_INSTANCES], "want": []})["result"]
    states = sorted((entry["name"], entry["state"]) for entry in answered["instances"])
    right, twice = ("control-plane-1", "running"), ("worker-2", "running")
    assert states == [right, twice, twice, ("worker-3", "asleep")]


@pytest.mark.parametrize("what", sorted({*MISBEHAVIOURS} - {"exit", "crash", "child"}))
def test_a_misbehaviour_changes_the_answer(what: str) -> None:
    asked = request("instances", {"nodes": [node("worker-1"), node("worker-2")], "want": ["state"]})
    proper = json.loads(answer_request(asked))
    assert spoil([{"what": what}], asked, proper) != json.dumps(proper).encode()


@pytest.mark.parametrize("what", sorted({*MISBEHAVIOURS} - {"exit", "crash", "child", "all-gone"}))
def test_no_misbehaviour_says_that_a_machine_is_gone(what: str) -> None:
    """Exit codes and signals are no answers whatever was printed; `all-gone` says so of everything, and is held."""
    asked = request("instances", {"nodes": [node("worker-1"), node("worker-2")], "want": ["state", "metadata"]})
    spoiled = spoil([{"what": what}], asked, json.loads(answer_request(asked)))
    assert "notFound" not in states_read(spoiled)


def states_read(printed: bytes) -> list[str]:
    """What hookrunner takes from this text: the state of each Node, or the code of the error."""
    try:
        result = result_of(read_answer(printed), verbs.INSTANCES, "r1")
        answers = read_instances(result, ["worker-1", "worker-2"], frozenset(Want))
    except ProviderError as error:
        return [error.code.value]
    return [answer.state.value for answer in answers.values()]


def test_the_page_names_each_misbehaviour_and_command() -> None:
    page = (PROVIDERS.parent / "docs" / "shipped-providers.md").read_text()
    assert [what for what in MISBEHAVIOURS if f"`{what}`" not in page] == []
    commands = {line.split()[1] for line in page.splitlines() if line.startswith("    providers/simcloud ")}
    assert commands <= set(names())
    assert set(names()) - commands == {"start", "terminate", "rename-zone", "garbage", "stop"} - commands


def test_delays_meet_a_call_beside_one_other_fault() -> None:
    main(["delay", "--verb", "*", "--seconds", "0.01"])
    main(["pending", "--verb", "lb-ensure", "--retry-after", "42"])
    main(["garbage", "--verb", "lb-ensure"])
    with changing_state() as state:
        met = take_faults(state, "lb-ensure", {})
    assert [fault["what"] for fault in met] == ["delay", "Pending"]


def test_the_calls_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    answer("lb-ensure", {"service": service(), "name": "a1", "nodes": [node("worker-1")]})
    instances(node("worker-1"))
    main(["calls", "--verb", "instances"])
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["nodes"] == ["worker-1"]


def test_what_there_is_is_shown_and_can_be_edited(capsys: pytest.CaptureFixture[str]) -> None:
    main(["edit", "worker-1", "zone", '"a b"'])
    main(["set", "limits", '{"maxBatch": 2}'])
    assert answer("capabilities")["result"]["limits"] == {"maxParallel": 4, "maxBatch": 2}
    assert main(["stop", "missing"]) == 1
    assert "no instance 'missing'; there are control-plane-1" in capsys.readouterr().err
    main(["list"])
    assert "instance worker-1: running, simcloud://i-0002, a b" in capsys.readouterr().out


def test_an_empty_document_is_an_empty_cloud_and_an_empty_file_a_new_one(cloud: Path) -> None:
    cloud.write_text("{}")
    assert read_state()["instances"] == {}
    cloud.write_text("")
    assert len(read_state()["instances"]) == 4


def test_the_verbs_are_those_of_the_wire_format() -> None:
    assert sorted(ANSWERS) == sorted(verbs.BY_NAME)
