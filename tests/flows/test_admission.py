"""Admission hooks behind the real API server, and what `kubectl` shows of their verdicts. Level: control plane."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any

import aiohttp
import pytest

from tests.controlplane.cluster import Cluster
from tests.examples import several
from tests.flows.conftest import Start
from tests.flows.operator import Operator
from tests.flows.scripts import HOLD, hook
from tests.flows.traffic import quick
from tests.flows.waiting import until
from tests.flows.webhooks import Site, answer, asked, validating

Ask = Callable[..., Awaitable[Operator]]

ALLOW = answer(allowed=True)
BAD = 'jq -e \'.[0].review.request.name | startswith("bad")\' "$BINDING_CONTEXT_PATH" > /dev/null'
"""Is this about an object that the test calls bad? Probes and fixtures are not."""


@pytest.fixture
def site(cluster: Cluster, namespace: str) -> Site:
    return Site(cluster, namespace)


@pytest.fixture
async def ask(site: Site, operator: Start) -> AsyncIterator[Ask]:
    """`await ask(script)` starts an operator with this hook, which the API server asks."""
    async with AsyncExitStack() as stack:

        async def start(script: str, *flags: str) -> Operator:
            return await stack.enter_async_context(asked(site, operator, script, *flags))

        yield start


def denying(site: Site, **response: Any) -> str:
    """Everything but bad objects is allowed."""
    return validating(site, f"if {BAD}; then\n{answer(allowed=False, **response)}else\n{ALLOW}fi\n")


async def test_an_allowed_request_is_carried_out(site: Site, ask: Ask) -> None:
    program = await ask(validating(site, ALLOW))
    assert site.kubectl("create", "configmap", "a")[0] == 0
    assert site.kubectl("label", "configmap", "a", "x=y")[0] == 0
    assert site.kubectl("delete", "configmap", "a")[0] == 0
    reviews = [context["review"]["request"] for context in program.contexts("h.sh")]
    mine = [request for request in reviews if request["name"] == "a"]
    assert [request["operation"] for request in mine[:3]] == ["CREATE", "UPDATE", "DELETE"]
    assert [bool(request["oldObject"]) for request in mine[:3]] == [False, True, True]
    assert [bool(request["object"]) for request in mine[:3]] == [True, True, False]
    assert {request["operation"] for request in mine[3:]} <= {"DELETE"}, "asked again if the API server's cache is late"


async def test_a_refusal_is_shown_with_its_message_its_code_and_warnings(site: Site, ask: Ask) -> None:
    await ask(denying(site, message="not before noon", code=418, warnings=["ask the cook"]))
    code, shown = site.kubectl("create", "configmap", "bad")
    assert code == 1
    refusal = f'admission webhook "{site.name}.example.com" denied the request: not before noon'
    assert shown == f"Warning: ask the cook\nerror: failed to create configmap: {refusal}\n"
    path = f"/api/v1/namespaces/{site.namespace}/configmaps"
    reply = site.cluster.request("POST", path, {"metadata": {"name": "bad"}})
    assert (reply.status, reply.body["code"]) == (418, 418)


async def test_updates_and_deletions_can_be_refused(site: Site, ask: Ask) -> None:
    site.kubectl("create", "configmap", "bad")
    await ask(denying(site, message="no"))
    for command in (("label", "configmap", "bad", "x=y"), ("delete", "configmap", "bad")):
        code, shown = site.kubectl(*command)
        assert code == 1
        assert "denied the request: no" in shown


async def test_connecting_can_be_allowed_and_refused(site: Site, ask: Ask) -> None:
    refuse = answer(allowed=False, message="no shells")
    body = f'if grep -q PodExecOptions "$BINDING_CONTEXT_PATH"; then\n{refuse}else\n{ALLOW}fi\n'
    program = await ask(validating(site, body, resources="*/*"))
    # A node of its own: what is on one that was missed for 40 s already is taken away within 20 s.
    spec = {"nodeName": f"no-node-{site.name}", "containers": [{"name": "c", "image": "i"}]}
    pod = {"metadata": {"name": "p"}, "spec": spec}
    site.cluster.create(f"/api/v1/namespaces/{site.namespace}/pods", pod)
    code, shown = site.kubectl("exec", "p", "--", "sh")
    assert (code, "denied the request: no shells" in shown) == (1, True)
    _, shown = site.kubectl("get", "--raw", f"/api/v1/namespaces/{site.namespace}/pods/p/proxy/")
    assert "denied" not in shown
    reviews = [context["review"]["request"] for context in program.contexts("h.sh")]
    connected = {review["subResource"] for review in reviews if review["operation"] == "CONNECT"}
    assert connected == {"exec", "proxy"}
    site.kubectl("delete", "pod", "p", "--force")


async def test_a_mutating_hook_changes_what_is_stored(site: Site, ask: Ask) -> None:
    steps = [{"op": "add", "path": "/data", "value": {"by": "hook"}}]
    binding = site.binding("CREATE", reinvocationPolicy="IfNeeded")
    await ask(hook({"kubernetesMutating": [binding]}, answer(allowed=True, patch=steps)))
    site.kubectl("create", "configmap", "a")
    assert json.loads(site.kubectl("get", "configmap", "a", "-o", "json")[1])["data"] == {"by": "hook"}


HANGS = "no answer within 0.8 s; was waiting for the hook h.sh"
WRONG = {
    "crash": ("exit 1", "Hook failed: h.sh: exit status 1, see the log of hookrunner"),
    "nonsense": ("echo nonsense > $VALIDATING_RESPONSE_PATH", "Hook failed: h.sh: got bad validating response"),
    "nothing": (":", "Hook failed: h.sh: the hook wrote nothing to VALIDATING_RESPONSE_PATH"),
    "impossible": (
        f"{ALLOW}echo '{{operation: Delete, kind: Nothing, name: x}}' > $KUBERNETES_PATCH_PATH",
        "Hook failed",
    ),
}
"""What a hook does wrong for an object of this name, and the message that reports it."""


def failing(site: Site, policy: str) -> str:
    cases = "".join(f"{name})\n{body}\n;;\n" for name, (body, _) in WRONG.items())
    body = f"case $(jq -r '.[0].review.request.name' \"$BINDING_CONTEXT_PATH\") in\n{cases}*)\n{ALLOW};;\nesac\n"
    return validating(site, body, failurePolicy=policy, timeoutSeconds=30)


async def test_with_policy_fail_a_failing_hook_refuses_the_request_with_a_reason(site: Site, ask: Ask) -> None:
    program = await ask(failing(site, "Fail"))
    for name, (_, message) in WRONG.items():
        code, shown = site.kubectl("create", "configmap", name)
        assert code == 1
        assert message in shown
    assert program.metric("webhook_reviews_total", result="failed") == len(WRONG)
    assert program.metric("hook_run_errors_total", hook="h.sh") == len(WRONG)


async def test_with_policy_ignore_a_failing_hook_admits_the_request(site: Site, ask: Ask) -> None:
    program = await ask(failing(site, "Ignore"))
    for name in WRONG:
        assert site.kubectl("create", "configmap", name) == (0, f"configmap/{name} created\n")
    assert program.metric("webhook_reviews_total", result="failed") == len(WRONG)


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_a_hanging_hook_is_stopped_at_the_deadline(site: Site, ask: Ask, policy: str) -> None:
    """The API server's own deadline is a fifth of a second later: on a busy machine it may come first."""
    body = f"if {BAD}; then\ntrap '' TERM; while :; do sleep 0.1; done\nelse\n{ALLOW}fi\n"
    program = await ask(validating(site, body, timeoutSeconds=1, failurePolicy=policy))
    create = ("create", "configmap", "bad", "--dry-run=server")
    if policy == "Fail":
        await until(lambda: HANGS in site.kubectl(*create)[1], HANGS)
    else:
        assert site.kubectl(*create)[0] == 0
    await until(lambda: program.metric("hook_processes") == 0 and not program.left_behind(), "no hook runs")


async def test_the_api_server_evaluates_conditions_and_selectors(site: Site, ask: Ask) -> None:
    conditions = [{"name": "not-mine", "expression": "object.metadata.name != 'bad-mine'"}]
    selector = {"matchExpressions": [{"key": "free", "operator": "DoesNotExist"}]}
    body = f"if {BAD}; then\n{answer(allowed=False)}else\n{ALLOW}fi\n"
    await ask(validating(site, body, "CREATE", matchConditions=conditions, labelSelector=selector))
    assert site.kubectl("create", "configmap", "bad-mine")[0] == 0
    free = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bad-free", "labels": {"free": "yes"}}}
    assert site.kubectl("create", "-f", "-", text=json.dumps(free))[0] == 0
    assert site.kubectl("create", "configmap", "bad")[0] == 1


async def test_an_admission_hook_reads_its_snapshots(site: Site, ask: Ask) -> None:
    site.kubectl("create", "configmap", "limit", "--from-literal=most=2")
    watched = {
        "name": "limit",
        "kind": "ConfigMap",
        "nameSelector": {"matchNames": ["limit"]},
        "namespace": {"nameSelector": {"matchNames": [site.namespace]}},
        "jqFilter": ".data.most",
        "executeHookOnSynchronization": False,
        "executeHookOnEvent": [],
    }
    binding = site.binding("CREATE", includeSnapshotsFrom=["limit"])
    told = "{allowed: true, warnings: [.[0].snapshots.limit[0].filterResult]}"
    body = f"jq '{told}' $BINDING_CONTEXT_PATH > $VALIDATING_RESPONSE_PATH"
    await ask(hook({"kubernetes": [watched], "kubernetesValidating": [binding]}, body))
    assert site.kubectl("create", "configmap", "a") == (0, "Warning: 2\nconfigmap/a created\n")


LATE = re.compile(r"deadline exceeded|Timeout exceeded|handshake timeout|i/o timeout|no answer within 29\.8 s")
"""What the API server says of a webhook whose answer does not come in time, and we of a hook."""


async def test_many_reviews_at_once_are_all_answered(site: Site, ask: Ask) -> None:
    """The hooks wait for all of them, and then do little. The API server waits for half a minute: on a machine that
    does not bring all of them together by then, some have to be asked again."""
    held = f'read -r context < "$BINDING_CONTEXT_PATH"\ncase $context in *\'"name":"n\'*)\n{HOLD};; esac\n'
    program = await ask(quick(site, held))
    before, many = program.metric("webhook_reviews_total"), several(1000)
    path = f"/api/v1/namespaces/{site.namespace}/configmaps?dryRun=All"
    trust = ssl.create_default_context(cafile=str(site.cluster.ca))
    connector = aiohttp.TCPConnector(ssl=trust, limit=0)
    caller = {"Authorization": f"Bearer {site.cluster.token}"}
    endless = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(site.cluster.url, connector=connector, headers=caller, timeout=endless) as session:

        async def create(name: str) -> bool:
            """Is it there? Not if the API server has waited too long for the webhook, or for us."""
            with suppress(aiohttp.ClientConnectionError):
                async with session.post(path, json={"metadata": {"name": name}}) as answer:
                    told = await answer.text()
                    assert answer.status == 201 or LATE.search(told), told
                    return answer.status == 201
            return False

        async def insist(name: str) -> None:
            while not await create(name):
                late.append(name)

        late: list[str] = []
        answers = [asyncio.create_task(insist(f"n{number}")) for number in range(many)]
        await until(lambda: late or program.metric("webhook_running") == many, "all of them wait at once")
        program.tell("go")
        await asyncio.gather(*answers)
    assert program.metric("webhook_reviews_total", result="allowed") >= before + many
