"""The API server is asked whether rights that were missing are granted now. Level: pure."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import orjson
import pytest

from hookrunner.errors import ApiError, Denied
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.lacked_rights import LackedRights
from hookrunner.kube.rights_checks import keep_checking
from tests.fakes.cluster import running

pytestmark = pytest.mark.looptime

REFUSAL = 'pods "a" is forbidden: User "me" cannot patch resource "pods/status" in API group "" in the namespace "shop"'
ASKED = {"verb": "patch", "group": "", "resource": "pods", "subresource": "status", "namespace": "shop", "name": "a"}
GRANT = (
    'clusterroles.rbac.authorization.k8s.io "a" is forbidden: user "me" is attempting to grant RBAC permissions not '
    'currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}'
)


@dataclass
class Authorizer:
    """Answers reviews with `allows`; `reviews` are the attributes that it was asked about."""

    allows: Callable[[Any], bool] = lambda attributes: True
    error: ApiError | None = None
    lacked: LackedRights = field(default_factory=LackedRights)
    reviews: list[Any] = field(default_factory=list)

    async def send(self, call: ApiCall) -> bytes:
        attributes = orjson.loads(orjson.dumps(call.body))["spec"]["resourceAttributes"]
        self.reviews.append(attributes)
        if self.error:
            raise self.error
        return orjson.dumps({"status": {"allowed": self.allows(attributes)}})


async def check(authorizer: Authorizer, seconds: float) -> None:
    async with running(keep_checking(cast(Client, authorizer))):
        await asyncio.sleep(seconds)


async def test_a_right_that_is_granted_now_is_forgotten_without_another_request() -> None:
    authorizer = Authorizer()
    authorizer.lacked.note("status", REFUSAL)
    await check(authorizer, 35)
    assert (authorizer.reviews, authorizer.lacked.conditions) == ([ASKED], {})


async def test_a_role_counts_as_missing_until_all_that_it_grants_is_there() -> None:
    authorizer = Authorizer(lambda attributes: attributes["verb"] == "list")
    authorizer.lacked.note("role", GRANT)
    await check(authorizer, 15)
    assert [review["verb"] for review in authorizer.reviews] == ["list", "watch"]
    assert "verbs: [list, watch]" in authorizer.lacked.conditions["rights"][1]


async def test_an_account_that_may_not_ask_about_itself_changes_nothing() -> None:
    authorizer = Authorizer(error=Denied(403, "Forbidden", "selfsubjectaccessreviews is forbidden"))
    authorizer.lacked.note("status", REFUSAL)
    await check(authorizer, 15)
    assert authorizer.lacked.refused


async def test_nothing_is_asked_while_nothing_is_missing() -> None:
    authorizer = Authorizer()
    await check(authorizer, 100)
    assert authorizer.reviews == []
