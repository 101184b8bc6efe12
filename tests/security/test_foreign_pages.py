"""A foreign web page in a browser that reaches the debug endpoint over TCP, or a sandbox; what others read there.

Level: sandbox."""

import base64
import json

import aiohttp
import pytest

from tests.controlplane.processes import free_port
from tests.flows.modules.hooks import configmap, hook, patch
from tests.flows.modules.world import World
from tests.kubesandbox.conftest import Client

EVIL = "evil.example"
SECRET = "swordfish-4711"


class Browser:
    """Asks the debug endpoint over TCP."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}"

    async def ask(self, method: str, path: str, **headers: str) -> tuple[int, str]:
        """Status and text of the answer; `_` in a header's name is `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        form = {"name": "log.level", "value": "debug"} if method == "POST" else None
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, self._base + path, headers=named, data=form) as answer,
        ):
            return answer.status, await answer.text()


@pytest.fixture
async def browser(world: World) -> Browser:
    """Of a program with a module whose password comes from a Secret and goes wherever values go."""
    port = free_port()
    world.operator.flags += (f"--debug-http-addr=localhost:{port}", "--config-secret=private", "--log-level=info")
    world.module("010-a", {"values.yaml": "a: {size: 1}\n"})
    world.module("010-a", {"templates/cm.yaml": configmap("a", "p: {{ .Values.a.password | quote }}")})
    copy = patch("/a/copied", '"$(jq -r .a.password "$VALUES_PATH")"')
    private = {"apiVersion": "v1", "kind": "Secret", "nameSelector": {"matchNames": ["private"]}, "name": "p"}
    world.module("010-a", {"hooks/h.sh": hook(copy, beforeHelm=1, kubernetes=[private])})
    data = {"a": base64.b64encode(f"password: {SECRET}".encode()).decode()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "private"}, "data": data}
    await world.ask("POST", world.path(resource="secrets"), secret)
    await world.configure(aEnabled="true")
    await world.start()
    return Browser(port)


async def test_a_foreign_page_reads_and_changes_nothing(browser: Browser) -> None:
    attacks = [
        ("GET", "/config/list.json", {"Host": EVIL}),  # DNS rebinding
        ("GET", "/config/list.json", {"Host": f"{EVIL}:80", "Sec_Fetch_Site": "same-origin"}),
        ("POST", "/config/set", {"Host": EVIL}),
        ("POST", "/config/set", {"Origin": f"https://{EVIL}"}),  # a form that a page sends by itself
        ("POST", "/config/set", {"Origin": "null"}),  # the same in a frame
        ("POST", "/module/a/rollback", {"Origin": f"http://localhost.{EVIL}"}),
        ("GET", "/module/a/render", {"Sec_Fetch_Site": "cross-site"}),  # an image that costs us work
    ]
    statuses = [(await browser.ask(method, path, **headers))[0] for method, path, headers in attacks]
    level = json.loads((await browser.ask("GET", "/config/list.json"))[1])[0]["value"]
    assert (statuses, level) == ([403] * len(attacks), "info")


async def test_programs_and_pages_of_this_machine_are_answered(browser: Browser) -> None:
    asked = [{}, {"Host": "localhost"}, {"Origin": "http://localhost:8080"}, {"Sec_Fetch_Site": "none"}]
    assert [(await browser.ask("POST", "/config/set", **headers))[0] for headers in asked] == [200] * len(asked)


@pytest.mark.slow
async def test_no_route_over_tcp_shows_a_value_of_the_secret(browser: Browser, world: World) -> None:
    """However it got where it is: by the Secret, a hook's patch, a template, a snapshot of the Secret itself."""
    routes = [line.split() for line in (await browser.ask("GET", "/discovery"))[1].splitlines()]
    names = {"/module": "a", "/hook": "010-a/hooks/h.sh"}
    asked = [
        path.replace("{format}", ".json").replace("{name}", names.get(path[: path.find("/", 1)], ""))
        for method, path in routes
        if method == "GET"
    ]
    variants = [f"{path}{query}" for path in asked for query in ("", "?global=true", "?explain=true", "?diff=true")]
    answers = {path: await browser.ask("GET", path) for path in variants}
    coded = base64.b64encode(f"password: {SECRET}".encode()).decode()
    assert [path for path, (_, text) in answers.items() if SECRET in text or coded in text] == []
    assert "ask over the debug socket" in answers["/module/a/values.json"][1]
    assert world.operator.command("module", "values", "a").count(SECRET) == 2


SANDBOX = ["/", "/version", "/healthz", "/openapi/v3", "/api", "/api/v1/secrets", "/api/v1/pods?watch=true", "/nowhere"]
FAULTS = "/_sandbox/faults"


async def test_a_foreign_page_reaches_no_part_of_a_sandbox(client: Client) -> None:
    attacks = [{"Host": EVIL}, {"Host": f"{EVIL}:80"}, {"Origin": f"https://{EVIL}"}, {"Sec_Fetch_Site": "cross-site"}]
    asked = [("GET", path) for path in SANDBOX] + [("POST", FAULTS), ("DELETE", FAULTS), ("POST", "/_sandbox/compact")]
    got = {(*one, str(headers)): (await client.send(*one, **headers)).status for one in asked for headers in attacks}
    assert {attack: status for attack, status in got.items() if status != 403} == {}
    assert (await client.send("GET", "/version", Sec_Fetch_Site="same-origin")).status == 200
