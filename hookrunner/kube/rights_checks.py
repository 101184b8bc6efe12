"""Asks the API server whether an account has a right, and whether rights that were missing have been granted meanwhile.

Most requests are made again, and show that. Those that are made once, at the start, or about an object that was deleted
since, would count as refused for a quarter of an hour after the right was granted.

Source: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access (every user may ask
about itself)
"""

import asyncio

from hookrunner.errors import KubeError
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.lacked_rights import Refusal, tolerated_refusals
from hookrunner.kube.writes import ObjectRef
from hookrunner.model.resources import Resource
from hookrunner.model.rights import AccessRequest
from kubetypes.json_values import JSON

_PAUSE = 10.0
"""Seconds between two rounds of questions."""
_MOST = 20
"""Questions in a round: more rules than a person adds at once. Those that are left are asked in later rounds."""
_REVIEWS = ObjectRef(Resource("authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", False))


async def keep_checking(client: Client) -> None:
    """Forget each refusal of this client's account that would not be one any more; never ends."""
    lacked = client.lacked
    while True:
        await lacked.wait_for_refusal()
        await asyncio.sleep(_PAUSE)
        for request, refusal in [*lacked.refused.items()][:_MOST]:
            if await _is_granted(client, refusal) and lacked.refused.get(request) == refusal:
                lacked.note(request)


async def _is_granted(client: Client, refusal: Refusal) -> bool:
    """Has the account all of these rights now? False if the server cannot be asked."""
    try:
        for access in refusal.requests():
            with tolerated_refusals():
                if not await is_allowed(client, access):
                    return False
    except KubeError:
        return False
    return True


async def is_allowed(client: Client, access: AccessRequest) -> bool:
    """Has the account as which this client acts a right? Raises KubeError if the server cannot be asked."""
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": _spec(access)}
    answer = await writes.create(client, _REVIEWS, body)
    return bool(answer.json["status"]["allowed"])


def _spec(access: AccessRequest) -> JSON:
    if access.url:
        return {"nonResourceAttributes": {"path": access.url, "verb": access.verb}}
    resource, _, subresource = access.resource.partition("/")
    what = {"group": access.group, "resource": resource, "subresource": subresource, "verb": access.verb}
    return {"resourceAttributes": what | {"namespace": access.namespace, "name": access.name}}
