"""What a provider says of its credentials stays hidden: it has its token in every error, message and log line, and the
token is in no log, Event, metric, status or /readyz of hookrunner.

Level: sandbox."""

import json
import urllib.request
from pathlib import Path

import pytest

from tests.cloud.scenarios.documents import node
from tests.cloud.scenarios.managers import ours, read_status
from tests.cloud.scenarios.scenes import service
from tests.cloud.scenarios.world import Scene, World
from tests.controlplane.processes import free_port
from tests.flows.waiting import until

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("launcher")]

TOKEN = "s3cr3t-t0ken-0f-the-cl0ud"
PROVIDER = """#!/bin/bash
echo "asking with token $CLOUD_TOKEN" >&2
case $1 in
capabilities) echo '{"result": {"providerName": "loud", "interfaces": {"instances": true, "loadBalancer": true}}}' ;;
instances) [ -e closed ] || exec jq --arg token "$CLOUD_TOKEN" '{result: {instances: [.params.nodes[] | {name} +
      if .name == "skipped" then {state: "skip", message: $token} else {state: "unknown", message: $token} end]}}' ;;&
*) echo "{\\"error\\": {\\"code\\": \\"Unauthenticated\\", \\"message\\": \\"401 for token $CLOUD_TOKEN\\"}}" ;;
esac
"""
NODES = [Scene(name, node(name)) for name in ("skipped", "unknown")]
WEB = Scene("web", service=service("web"))


async def test_token_that_the_provider_tells_everywhere_is_shown_nowhere(
    simulated_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, port = simulated_world, free_port()
    monkeypatch.setenv("CLOUD_TOKEN", TOKEN)
    (provider := tmp_path / "loud").write_text(PROVIDER)
    provider.chmod(0o755)
    with ours(world, "--cloud-env=CLOUD_TOKEN", f"--listen-port={port}", provider=provider):
        world.make([*NODES, WEB])
        await until(lambda: any("401" in message for message in world.event_messages()), "the Event of the Service")
        await until(lambda: "***" in json.dumps(read_status(world)["nodes"]), "why the Node waits")
        (tmp_path / "closed").touch()
        await until(lambda: "401" in fetch(f"http://127.0.0.1:{port}/readyz"), "that the credentials are refused")
        shown = {
            "status": json.dumps(read_status(world)),
            "readyz": fetch(f"http://127.0.0.1:{port}/readyz"),
            "metrics": fetch(f"http://127.0.0.1:{port}/metrics"),
        }
    shown["log"] = (world.directory / "ours.log").read_text()
    shown["events"] = "\n".join(world.event_messages())
    assert [where for where, text in shown.items() if TOKEN in text] == []
    assert [where for where, text in shown.items() if "***" in text] == ["status", "readyz", "log", "events"]


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())
