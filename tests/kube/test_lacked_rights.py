"""Which rights hookrunner's account lacks, as refusals show them. Level: sandbox."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from hookrunner.errors import Denied, NotFound
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.lacked_rights import LackedRights, alternatives, lacking, tolerated_refusals
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.rights import Right
from hookrunner.settings import KubeSettings

ROLE = "add to the role of hookrunner's ServiceAccount: "


def words(verb: str, resource: str = "configmaps", place: str = "at the cluster scope") -> str:
    return f'{resource} is forbidden: User "me" cannot {verb} resource "{resource}" in API group "" {place}'


def test_a_refusal_is_read_as_a_right() -> None:
    (right,) = lacking(words("list", "pods/log", 'in the namespace "shop"'))
    assert right == Right(("",), ("pods/log",), ("list",), namespace="shop")
    assert lacking('pods "a" is forbidden: exceeded quota') == ()


def test_all_that_is_missing_is_shown_as_few_rules() -> None:
    lacked = LackedRights()
    for verb, resource in (("list", "pods"), ("create", "pods"), ("list", "secrets"), ("create", "secrets")):
        lacked.note((verb, resource), words(verb, resource))
    lacked.note("other", words("get", place='in the namespace "shop"'))
    assert lacked.conditions == {
        "rights": (
            True,
            ROLE + '{apiGroups: [""], resources: [pods, secrets], verbs: [list, create]}, '
            '{apiGroups: [""], resources: [configmaps], verbs: [get]} in namespace shop',
        )
    }


def test_a_right_is_missing_until_a_request_of_its_kind_is_allowed() -> None:
    lacked = LackedRights()
    lacked.note("list", words("list"))
    lacked.note("get", words("get"))
    lacked.note("list")
    assert lacked.conditions == {"rights": (True, ROLE + '{apiGroups: [""], resources: [configmaps], verbs: [get]}')}
    lacked.note("get")
    assert (lacked.conditions, lacked.refused) == ({}, {})


def test_what_is_not_asked_for_any_more_is_not_shown_for_ever() -> None:
    times = iter([0.0, 899.0, 901.0])
    lacked = LackedRights(lambda: next(times))
    for _ in range(2):
        lacked.note("list" if not lacked.refused else "get", words("list") if not lacked.refused else "")
        assert lacked.conditions
    lacked.note("get")
    assert not lacked.conditions


def test_a_role_that_is_refused_lacks_rights_in_its_namespace() -> None:
    grant = 'roles.rbac.authorization.k8s.io "a" is forbidden: user "me" (groups=["b"]) is attempting to grant RBAC '
    grant += 'permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["list"]}'
    lacked = LackedRights()
    lacked.note("role", grant, "shop")
    assert lacked.conditions["rights"][1].endswith(
        '{apiGroups: [""], resources: [pods], verbs: [list]} in namespace shop'
    )


def test_a_binding_that_is_refused_lacks_the_right_to_bind_its_role() -> None:
    grant = 'rolebindings.rbac.authorization.k8s.io "a" is forbidden: user "me" (groups=["b"]) is attempting to grant '
    grant += 'RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["list"]}'
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    (right,) = lacking(grant, "shop", {"roleRef": role})
    assert right == Right(("rbac.authorization.k8s.io",), ("clusterroles",), ("bind",), ("view",), "shop")
    assert lacking(grant, "shop", {"rules": []}) == (Right(("",), ("pods",), ("list",), namespace="shop"),)


def test_the_names_that_were_refused_stand_behind_the_rule() -> None:
    lacked = LackedRights()
    for name in ("b", "a"):
        refusal = words("patch", "pods", 'in the namespace "shop"').replace("pods is", f'pods "{name}" is')
        lacked.note(name, refusal)
    rule = '{apiGroups: [""], resources: [pods], verbs: [patch]} in namespace shop'
    assert lacked.conditions["rights"][1] == f"{ROLE}{rule} (for a, b)"
    lacked.note("a")
    assert lacked.conditions["rights"][1] == f"{ROLE}{rule} (for b)"


def test_no_more_than_some_refused_requests_are_kept() -> None:
    lacked = LackedRights()
    for number in range(300):
        lacked.note(number, words("list"))
    assert len(lacked.refused) == 200
    assert next(iter(lacked.refused)) == 100


async def test_a_watch_that_is_refused_is_named_though_the_list_is_allowed() -> None:
    denied = {"kind": "Status", "reason": "Forbidden", "message": words("watch")}

    async def answer(http: web.BaseRequest) -> web.Response:
        return web.json_response(denied, status=403) if "watch" in http.query else web.json_response({})

    async with RawTestServer(answer) as server:
        credentials = Credentials(KubeSettings(), Connection(str(server.make_url("")).rstrip("/")))
        async with Client(credentials, Requests(Metrics(""))) as client:
            with pytest.raises(Denied):
                await anext(client.stream("/api/v1/configmaps", {"watch": "true"}, idle=1.0))
            await client.get("/api/v1/configmaps")
        assert "verbs: [watch]" in credentials.lacked.conditions["rights"][1]


def test_what_a_caller_can_do_without_is_not_missing() -> None:
    lacked = LackedRights()
    with tolerated_refusals():
        lacked.note("list", words("list"))
    assert not lacked.refused
    lacked.note("list", words("list"))
    assert lacked.refused


def try_both(lacked: LackedRights, second: str) -> None:
    """By `patch`, which is refused, and then by `update`."""
    with alternatives():
        lacked.note("patch", words("patch"))
        lacked.note("update", second)
        if second:
            raise Denied(403, "Forbidden", second)


def test_of_alternatives_that_are_all_refused_the_first_is_missing() -> None:
    lacked = LackedRights()
    try_both(lacked, "")
    assert not lacked.refused, "the second way was allowed"
    with pytest.raises(Denied):
        try_both(lacked, words("update"))
    assert lacked.conditions == {"rights": (True, ROLE + '{apiGroups: [""], resources: [configmaps], verbs: [patch]}')}


def test_of_alternatives_that_a_caller_can_do_without_nothing_is_missing() -> None:
    lacked = LackedRights()
    with pytest.raises(Denied), tolerated_refusals():
        try_both(lacked, words("update"))
    assert not lacked.refused


@asynccontextmanager
async def answering(*answers: tuple[int, object]) -> AsyncIterator[Client]:
    """A client whose requests have these answers, one after the other."""
    coming = iter(answers)

    async def answer(http: web.BaseRequest) -> web.Response:
        status, body = next(coming)
        return web.json_response(body, status=status)

    async with RawTestServer(answer) as server:
        credentials = Credentials(KubeSettings(), Connection(str(server.make_url("")).rstrip("/")))
        async with Client(credentials, Requests(Metrics(""))) as client:
            yield client


async def test_a_client_notes_refusals_and_what_shows_that_a_right_is_there() -> None:
    denied = {"kind": "Status", "reason": "Forbidden", "message": words("delete", place='in the namespace "a"')}
    async with answering((403, denied), (200, {}), (404, {}), (404, {})) as client:
        with pytest.raises(Denied, match=r"verbs: \[delete\]"):
            await client.send(ApiCall("DELETE", "/api/v1/namespaces/a/configmaps/x"))
        await client.send(ApiCall("DELETE", "/api/v1/namespaces/b/configmaps/x"))
        assert client.lacked.refused, "that was in another namespace"
        with pytest.raises(NotFound):
            await client.send(ApiCall("DELETE", "/api/v1/namespaces/a/configmaps/y"))
        assert client.lacked.refused, "the role may name the other object"
        with pytest.raises(NotFound):
            await client.send(ApiCall("DELETE", "/api/v1/namespaces/a/configmaps/x"))
        assert not client.lacked.refused


async def test_a_role_that_may_be_created_shows_nothing_about_what_another_one_grants() -> None:
    grant = 'grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'
    message = f'clusterroles "a" is forbidden: user "me" is attempting to {grant}'
    denied = {"kind": "Status", "reason": "Forbidden", "message": message}
    async with answering((403, denied), (201, {}), (201, {})) as client:
        with pytest.raises(Denied):
            await client.send(new_role("a"))
        await client.send(new_role("b"))
        assert client.lacked.refused
        await client.send(new_role("a"))
        assert not client.lacked.refused


def new_role(name: str) -> ApiCall:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    return ApiCall("POST", path, body={"metadata": {"name": name}})
