"""The cloud as an executable, with real processes: questions of all interfaces, pauses, capabilities that change.

Level: pure."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from itertools import accumulate
from pathlib import Path

import pytest

from hookrunner.cloud.answers import (
    CloudRoute,
    ErrorCode,
    Ingress,
    InstanceAnswer,
    InstanceState,
    Interface,
    LoadBalancerState,
    ProviderError,
    Want,
)
from hookrunner.cloud.nodes.cloud_node import CloudNode
from hookrunner.cloud.provider import capability_watch
from hookrunner.cloud.provider.executable_provider import ExecutableProvider
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.cloud.provider.verbs import BY_NAME
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.series import Counter
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from kubetypes.json_values import JSON
from tests.flows.waiting import until

PROGRAM = """#!{python} -IS
import json, os, pathlib, sys
request = json.load(sys.stdin)
answers = json.loads(pathlib.Path(os.environ["CLOUD_CONFIG"]).read_text())
with open(os.environ["CLOUD_CONFIG"] + ".calls", "a") as calls:
    calls.write(json.dumps(request) + "\\n")
print(json.dumps(answers[request["verb"]]))
"""
"""Prints what the file CLOUD_CONFIG has for the verb, and notes each call."""
PATIENCE = 60.0
EVERYTHING = {"instances": True, "loadBalancer": True, "routes": True}
SERVICE = LoadBalancerRequest({"metadata": {"name": "web", "uid": "u1"}}, "a1")
NODE = CloudNode("n1", "uid-n1", "sim://n1", {"a": "b"}, {}, (), (), (), 0.0, True, False, False, None)


class Counted(Counter):
    """Calls as the metrics count them: they are remembered, and can be waited for."""

    def __init__(self) -> None:
        super().__init__("hookrunner_cloud_provider_calls_total", "", ("verb", "code"))
        self.calls: list[tuple[str, str]] = []
        self._codes: asyncio.Queue[str] = asyncio.Queue()

    def inc(self, *labels: str) -> None:
        super().inc(*labels)
        verb, code = labels
        self.calls.append((verb, code))
        self._codes.put_nowait(code)

    async def next_code(self) -> str:
        """The code of the next call that ends."""
        async with asyncio.timeout(PATIENCE):
            code = await self._codes.get()
        await asyncio.sleep(0)  # the caller gets its answer after the metric
        return code


class Cloud:
    """What the program answers, and how often it was asked."""

    def __init__(self, directory: Path) -> None:
        self._config = directory / "answers.json"
        self.program = directory / "cloud"
        self.program.write_text(PROGRAM.format(python=sys.executable))
        self.program.chmod(0o755)
        self.answers: dict[str, JSON] = {"capabilities": {"result": {"providerName": "sim", "interfaces": EVERYTHING}}}
        self.metrics, self.families = Counted(), Metrics()
        vars(self.families)["cloud_provider_calls"] = self.metrics

    def answer(self, **answers: JSON) -> None:
        """`lb_get={...}` is the answer to `lb-get`."""
        self.answers |= {verb.replace("_", "-"): answer for verb, answer in answers.items()}
        self._config.write_text(json.dumps(self.answers))

    def requests(self, verb: str) -> list[JSON]:
        lines = self._config.with_name("answers.json.calls").read_text().splitlines()
        return [request for request in map(json.loads, lines) if request["verb"] == verb]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ExecutableProvider]:
        variables = {"PATH": os.defpath, "CLOUD_CONFIG": str(self._config)}
        program = ProviderProgram(self.program, variables, frozenset(["hunter22"]), timeout=20.0)
        provider = ExecutableProvider(program, Children(Patience()), self.families)
        running = asyncio.create_task(provider.run())
        try:
            yield provider
        finally:
            running.cancel()
            await asyncio.wait([running])

    @asynccontextmanager
    async def provider(self) -> AsyncIterator[ExecutableProvider]:
        async with self.running() as provider:
            async with asyncio.timeout(PATIENCE):
                await provider.wait_for_capabilities()
            yield provider


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    made = Cloud(tmp_path)
    made.answer()
    return made


@pytest.mark.slow
async def test_questions_of_all_interfaces(cloud: Cloud) -> None:
    cloud.answer(
        instances={"result": {"instances": [{"name": "n1", "state": "notFound", "message": "not hunter22"}]}},
        lb_get={"result": {"exists": False}},
        lb_ensure={"result": {"status": {"ingress": [{"ip": "10.0.0.1"}]}}},
        lb_update={"error": {"code": "NotFound"}},
        lb_delete={"result": {}},
        lb_list={"result": {"loadBalancers": []}},
        routes_list={"result": {"routes": [{"targetNode": "n1", "destinationCIDR": "10.1.0.0/24"}]}},
        routes_apply={"result": {"create": [{"ok": True}], "delete": []}},
    )
    async with cloud.provider() as provider:
        assert await provider.ask_instances([NODE], {Want.STATE}) == {
            "n1": InstanceAnswer(InstanceState.NOT_FOUND, message="not ***")
        }
        assert await provider.get_load_balancer(SERVICE) == LoadBalancerState(False)
        assert await provider.ensure_load_balancer(SERVICE) == (Ingress("10.0.0.1"),)
        await provider.update_load_balancer(SERVICE)
        await provider.delete_load_balancer(SERVICE)
        assert await provider.list_load_balancers() == ()
        (route,) = await provider.list_routes()
        assert route == CloudRoute("n1", "10.1.0.0/24")
        assert (await provider.apply_routes([route], [])).create == (None,)
    (asked,) = cloud.requests("instances")
    assert asked["params"]["want"] == ["state"]
    assert (asked["params"]["nodes"][0]["ready"], asked["deadlineSeconds"]) == (True, 20.0)
    assert {code for _, code in cloud.metrics.calls} == {"OK"}
    assert {verb for verb, _ in cloud.metrics.calls} == set(BY_NAME)


SERVED = """#!{python}
import os
from hookrunner.provider import InvalidError, run, verb

@verb
def routes_list(params):
    return {{"routes": [{{"destinationCIDR": "10.0.0.0/24", "name": str(os.getpid())}}]}}

@verb
def routes_apply(params):
    raise InvalidError("not today")

run("served")
"""


@pytest.mark.slow
async def test_a_program_in_python_stays_and_answers_all_questions(cloud: Cloud) -> None:
    cloud.program.write_text(SERVED.format(python=sys.executable))
    async with cloud.provider() as provider:
        assert provider.capabilities.serve
        first, second = await provider.list_routes(), await provider.list_routes()
        with pytest.raises(ProviderError, match="Invalid: not today"):
            await provider.apply_routes([], [])
    assert first == second


SLOW = """#!{python} -IS
import json, os, pathlib, sys, time
request, config = json.load(sys.stdin), os.environ["CLOUD_CONFIG"]
def note(what):
    with open(config + ".log", "a") as log:
        log.write(what + "\\n")
if request["verb"] != "capabilities":
    note("begin")
    while not os.path.exists(config + ".go"):
        time.sleep(0.01)
    note("end")
print(json.dumps(json.loads(pathlib.Path(config).read_text())[request["verb"]]))
"""
"""Notes when each call begins and ends, which is not before the file `.go` is there."""


@pytest.mark.slow
async def test_no_more_programs_run_at_once_than_it_allows_and_nodes_wait_for_no_load_balancer(
    cloud: Cloud, tmp_path: Path
) -> None:
    cloud.program.write_text(SLOW.format(python=sys.executable))
    log, go = tmp_path / "answers.json.log", tmp_path / "answers.json.go"
    log.touch()
    limited = {"providerName": "sim", "interfaces": EVERYTHING, "limits": {"maxParallel": 3}}
    cloud.answer(
        capabilities={"result": limited},
        lb_get={"result": {"exists": False}},
        instances={"result": {"instances": [{"name": "n1", "state": "skip"}]}},
    )
    services = [LoadBalancerRequest({"metadata": {"name": "web", "uid": f"u{number}"}}, "a") for number in range(5)]
    async with cloud.provider() as provider, asyncio.timeout(PATIENCE):
        calls = [asyncio.create_task(provider.get_load_balancer(service)) for service in services]
        await until(lambda: log.read_text().count("begin") == 2, "two calls to begin")
        asked = asyncio.create_task(provider.ask_instances([NODE], {Want.STATE}))
        await until(lambda: log.read_text().count("begin") == 3, "the call about Nodes to begin, while those two hang")
        go.touch()
        assert await asyncio.gather(*calls) == [LoadBalancerState(False)] * 5
        assert (await asked)["n1"] == InstanceAnswer(InstanceState.SKIP)
    steps = [1 if line == "begin" else -1 for line in log.read_text().split()]
    assert (len(steps), max(accumulate(steps))) == (12, 3)


@pytest.mark.slow
async def test_a_throttled_call_pauses_the_others(cloud: Cloud) -> None:
    throttled = {"error": {"code": "Throttled", "message": "slow down", "retryAfterSeconds": 0.4}}
    cloud.answer(lb_get=throttled, routes_list={"result": {"routes": []}})
    async with cloud.provider() as provider:
        before = time.time()
        with pytest.raises(ProviderError) as caught:
            await provider.get_load_balancer(SERVICE)
        end = provider.calls.paused_until or time.time()  # 0 if the pause is over by now
        assert end >= before + 0.4
        assert await provider.list_routes() == ()
        assert time.time() > end - 0.1  # the pause itself is measured by another clock
    assert (caught.value.code, caught.value.retry_after) == (ErrorCode.THROTTLED, 0.4)


@pytest.mark.slow
async def test_refused_credentials_are_shown_until_a_call_succeeds(cloud: Cloud) -> None:
    refused = {"error": {"code": "Unauthenticated", "message": "the token has expired"}}
    cloud.answer(lb_get=refused, lb_ensure={"error": {"code": "Unavailable", "message": "busy"}})
    async with cloud.provider() as provider:
        assert provider.condition == (True, "")
        for ask in (provider.get_load_balancer, provider.ensure_load_balancer):
            with pytest.raises(ProviderError):
                await ask(SERVICE)
            assert provider.condition == (True, "the cloud refuses the credentials: the token has expired")
        cloud.answer(lb_get={"result": {"exists": False}})
        await provider.get_load_balancer(SERVICE)
        assert provider.condition == (True, "")


@pytest.mark.slow
async def test_secrets_are_masked_in_the_log_and_in_what_is_remembered(
    cloud: Cloud, capfd: pytest.CaptureFixture[str]
) -> None:
    cloud.answer(lb_get={"error": {"code": "Unavailable", "message": "refused hunter22"}}, lb_delete="hunter22")
    leak = 'print("my token is hunter22", file=sys.stderr)\n'
    cloud.program.write_text(cloud.program.read_text() + leak)
    async with cloud.provider() as provider:
        for ask in (provider.get_load_balancer, provider.delete_load_balancer):
            with pytest.raises(ProviderError) as caught:
                await ask(SERVICE)
            assert "hunter22" not in str(caught.value)
        assert "hunter22" not in str(provider.calls.recent)
    logged = capfd.readouterr().err
    assert "my token is ***" in logged
    assert "hunter22" not in logged


@pytest.mark.slow
async def test_an_interface_that_turns_out_not_to_be_there_is_switched_off(cloud: Cloud) -> None:
    cloud.answer(routes_list={"error": {"code": "NotImplemented"}}, lb_list={"error": {"code": "NotImplemented"}})
    async with cloud.provider() as provider:
        for _ in range(2):
            with pytest.raises(ProviderError, match="NotImplemented"):
                await provider.list_routes()
        with pytest.raises(ProviderError, match="NotImplemented"):
            await provider.list_load_balancers()
        assert provider.capabilities.interfaces == (Interface.INSTANCES, Interface.LOAD_BALANCER)
    assert len(cloud.requests("routes-list")) == 1


@pytest.mark.slow
async def test_a_result_of_another_shape_counts_as_unavailable_and_hides_secrets(cloud: Cloud) -> None:
    cloud.answer(lb_ensure={"result": {}}, lb_get={"error": {"code": "Invalid", "message": "bad key hunter22"}})
    async with cloud.provider() as provider:
        with pytest.raises(ProviderError, match="needs an object 'status'"):
            await provider.ensure_load_balancer(SERVICE)
        with pytest.raises(ProviderError, match=r"Invalid: bad key \*\*\*"):
            await provider.get_load_balancer(SERVICE)
        records = [(record.verb, record.code) for record in provider.calls.recent]
    assert records[1:] == [("lb-ensure", "Unavailable"), ("lb-get", "Invalid")]
    assert cloud.metrics.calls == records
    assert {
        'hookrunner_cloud_provider_calls_total{code="OK",verb="capabilities"} 1',
        'hookrunner_cloud_provider_calls_total{code="Unavailable",verb="lb-ensure"} 1',
        'hookrunner_cloud_provider_call_seconds_count{verb="lb-ensure"} 1',
    } - set(cloud.families.exposition().decode().splitlines()) == set()


@pytest.mark.slow
async def test_capabilities_are_asked_until_they_come_and_after_the_file_has_changed(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capability_watch, "FILE_PERIOD", 0.01)
    good = cloud.answers["capabilities"]
    cloud.answer(capabilities={"result": {"providerName": "my cloud"}})
    async with cloud.running() as provider:
        assert await cloud.metrics.next_code() == ErrorCode.UNAVAILABLE
        assert not provider.condition[0]
        assert "'providerName' must be letters" in provider.condition[1]
        cloud.answer(capabilities=good)
        assert (await provider.wait_for_capabilities()).provider_name == "sim"
        assert provider.condition == (True, "")
        async with asyncio.timeout(PATIENCE), aclosing(provider.follow_capabilities()) as shown:
            assert (await anext(shown)).provider_name == "sim"
            cloud.answer(capabilities={"result": {"providerName": "other"}})
            cloud.program.touch()
            assert (await anext(shown)).provider_name == "other"
