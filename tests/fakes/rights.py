"""A client in front of an API server without rights: users have those that a test gives them, hookrunner has all.

    client = confined_client(api.url, {"system:serviceaccount:default:deployer": [Right(…)]})
    client.asked                                    # who has sent what: (user, request)

It answers a SelfSubjectAccessReview and refuses a request by the same rights, in the words of a real API server.
"""

from collections.abc import Mapping, Sequence

import orjson

from hookrunner.errors import Denied
from hookrunner.kube import refusals
from hookrunner.kube.client import ApiCall, Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.rights import AccessRequest, Right
from hookrunner.rights.request_lines import is_open_to_all, read_request
from hookrunner.settings import KubeSettings


class ConfinedClient(Client):
    """`rights` are those of each user; do change them. `asked` are the requests of users and their dry runs, and those
    of hookrunner under the user ""."""

    rights: Mapping[str, Sequence[Right]]
    asked: list[tuple[str, AccessRequest]]

    async def send(self, call: ApiCall) -> bytes:
        """As `Client.send`."""
        query = "&".join(f"{key}={value}" for key, value in call.params.items())
        request = read_request(f"{call.method} {call.path}?{query}")
        if call.path.endswith("/selfsubjectaccessreviews"):
            return orjson.dumps({"status": {"allowed": self._may(call.user, _access_of(call))}})
        if not is_open_to_all(request):
            self.asked.append((call.user, request))
            if call.user and not self._may(call.user, request):
                raise refusals.name_missing_rule(_refusal(call.user, request), call.body, call.user)
        return await super().send(call)

    def users_of(self, resource: str) -> set[str]:
        """Who has asked for objects of this resource."""
        return {user for user, request in self.asked if request.resource == resource}

    def _may(self, user: str, access: AccessRequest) -> bool:
        return any(right.covers(access) for right in self.rights.get(user, ()))


def _access_of(call: ApiCall) -> AccessRequest:
    what = orjson.loads(orjson.dumps(call.body))["spec"]["resourceAttributes"]
    return AccessRequest(what["verb"], what["group"], what["resource"], what["namespace"], what["name"])


def _refusal(user: str, request: AccessRequest) -> Denied:
    place = f' in the namespace "{request.namespace}"' if request.namespace else " at the cluster scope"
    what = f'cannot {request.verb} resource "{request.resource}" in API group "{request.group}"{place}'
    return Denied(403, "Forbidden", f'{request.resource} "{request.name}" is forbidden: User "{user}" {what}')


def confined_client(url: str, rights: Mapping[str, Sequence[Right]]) -> ConfinedClient:
    """Of the API server there."""
    client = ConfinedClient(Credentials(KubeSettings(), Connection(url)), Requests(Metrics("")))
    client.rights, client.asked = rights, []
    return client
