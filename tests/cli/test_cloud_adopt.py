"""`hookrunner cloud adopt` on a sandbox: Nodes that joined without the kubelet's flag are shown, and tainted.

Level: sandbox."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from kubesandbox.faults import Fault
from tests.cli.served_sandbox import ServedSandbox, serve_in_thread
from tests.cloud.scenarios.documents import UNINITIALIZED
from tests.fakes.command_line import Command

OTHER = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
NODES = {"old": {"taints": [OTHER]}, "ours": {"providerID": "sim://i-1"}, "new": {"taints": [UNINITIALIZED]}}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedSandbox]:
    about = {"apiVersion": "v1", "kind": "Node"}
    with serve_in_thread(tmp_path, [{**about, "metadata": {"name": n}, "spec": s} for n, s in NODES.items()]) as served:
        yield served


def taints(served: ServedSandbox) -> dict[str, list[str]]:
    """The keys of each Node's taints."""
    nodes = [node.json() for node in served.sandbox.store.select("nodes")]
    return {node["metadata"]["name"]: [t["key"] for t in node["spec"].get("taints", ())] for node in nodes}


@pytest.mark.slow
def test_nodes_are_tainted_after_they_were_shown(served: ServedSandbox, command: Command) -> None:
    before, shown = taints(served), command("cloud", "adopt", served.flag)
    assert (shown.code, shown.err, taints(served)) == (0, "", before)
    assert shown.out == "old: would be tainted\nnothing was changed; --yes does it\n"

    as_json = json.loads(command("cloud", "adopt", "-o", "json", served.flag).out)
    assert (as_json, taints(served)) == ({"nodes": ["old"], "tainted": False}, before)

    served.sandbox.faults.add(Fault("answer", match="PATCH", status=409, times=1))
    done = command("cloud", "adopt", "old", "--yes", served.flag)
    assert (done.code, done.out) == (0, "old: tainted; the provider decides\n")
    assert taints(served) == before | {"old": [*before["old"], UNINITIALIZED["key"]]}


def provider_that_says(state: str, directory: Path) -> str:
    """A flag for a provider that has this answer about each Node."""
    path, about = directory / "provider", '{"providerName": "sim", "interfaces": {"instances": true}}'
    entry = f'{{name, state: "{state}", message: "rack 7"}}'
    path.write_text(
        f"#!/bin/sh\n[ $1 != capabilities ] || {{ echo '{{\"result\": {about}}}'; exit; }}\n"
        f"[ {state} != away ] || exit 1\njq '{{result: {{instances: [.params.nodes[] | {entry}]}}}}'\n"
    )
    path.chmod(0o755)
    return f"--cloud-provider={path}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("skip", "it is not a machine of this provider (rack 7)"),
        ("notFound", "the provider has no such machine (rack 7)"),
        ("unknown", "the provider does not know; try again later (rack 7)"),
    ],
)
def test_a_node_that_the_provider_would_not_initialise_is_left_out(
    state: str, why: str, served: ServedSandbox, command: Command, tmp_path: Path
) -> None:
    before, provider = taints(served), provider_that_says(state, tmp_path)
    done = command("cloud", "adopt", "--yes", provider, served.flag)
    assert (done.code, done.out, taints(served)) == (0, f"old: left out: {why}\n", before)
    as_json = json.loads(command("cloud", "adopt", "old", "-o", "json", provider, served.flag).out)
    assert as_json == {"nodes": [], "tainted": False, "leftOut": {"old": why}}


@pytest.mark.slow
def test_a_node_that_the_provider_knows_is_tainted(served: ServedSandbox, command: Command, tmp_path: Path) -> None:
    provider = provider_that_says("running", tmp_path)
    assert command("cloud", "adopt", provider, served.flag).out.startswith("old: would be tainted\n")
    assert command("cloud", "adopt", "--yes", provider, served.flag).out == "old: tainted; the provider decides\n"
    assert UNINITIALIZED["key"] in taints(served)["old"]


@pytest.mark.slow
def test_nothing_is_tainted_while_the_provider_does_not_answer(
    served: ServedSandbox, command: Command, tmp_path: Path
) -> None:
    before, done = taints(served), command("cloud", "adopt", "--yes", provider_that_says("away", tmp_path), served.flag)
    assert (done.code, done.out, taints(served)) == (1, "", before)
    assert "provider: instances ended with exit status 1" in done.err
    assert "nothing was changed" in done.err


@pytest.mark.slow
def test_named_nodes_must_exist_and_only_those_that_need_it_are_tainted(
    served: ServedSandbox, command: Command
) -> None:
    before, done = taints(served), command("cloud", "adopt", "old", "worker-9", "--yes", served.flag)
    assert (done.code, taints(served)) == (2, before)
    assert "there is no Node worker-9" in done.err
    done = command("cloud", "adopt", "ours", "--yes", served.flag)
    left_out = "ours: left out: it has a providerID, is being initialised, or is being deleted\n"
    assert (done.code, done.out, taints(served)) == (0, left_out, before)


def test_all_nodes_are_tainted_only_if_a_provider_is_asked(command: Command) -> None:
    done = command("cloud", "adopt", "--yes")
    assert done.code == 2
    assert "--yes needs --cloud-provider" in done.err


class Refusal(BaseHTTPRequestHandler):
    """An API server whose RBAC grants nothing, in its own words."""

    def do_GET(self) -> None:
        message = 'nodes is forbidden: User "me" cannot list resource "nodes" in API group "" at the cluster scope'
        body = json.dumps({"kind": "Status", "reason": "Forbidden", "code": 403, "message": message}).encode()
        self.send_response(403)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test looks at what the command prints."""


@pytest.fixture
def refusing(tmp_path: Path) -> Iterator[str]:
    """The flag for a server that refuses everything."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusal)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        "users": [{"name": "c", "user": {"token": "t"}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    yield f"--kube-config={tmp_path / 'kubeconfig'}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_a_missing_right_is_told_with_the_rule_that_grants_all(refusing: str, command: Command) -> None:
    done = command("cloud", "adopt", refusing)
    assert done.code == 1
    rule = '{apiGroups: [""], resources: [nodes], verbs: [get, list, patch]}'
    assert f"no right to adopt Nodes: add {rule} to the role" in done.err
