"""Requests that act as a ServiceAccount: what is sent, and what their refusals say. Level: pure."""

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from hookrunner.errors import AccountDenied, Denied, api_error
from hookrunner.kube.client import Client
from hookrunner.kube.credentials import Connection, Credentials
from hookrunner.kube.impersonation import acting_as
from hookrunner.kube.refusals import explain_rights, lacks_rights, name_missing_rule
from hookrunner.metrics.names import Metrics
from hookrunner.metrics.recorders import Requests
from hookrunner.model.releases import ServiceAccount
from hookrunner.settings import KubeSettings
from tests.tables import each

PATH = "/api/v1/namespaces/shop/configmaps/a"
DEPLOYER = ServiceAccount("shop", "deployer")
WHERE = 'resource "configmaps" in API group "" in the namespace "shop"'
LACKS = f'configmaps "a" is forbidden: User "{DEPLOYER.user}" cannot patch {WHERE}'
ME = "system:serviceaccount:hookrunner:hookrunner"
ACCOUNTS = WHERE.replace("configmaps", "serviceaccounts")
PLAIN = f'serviceaccounts "deployer" is forbidden: User "{ME}" cannot impersonate {ACCOUNTS}'
CONSTRAINED = f'configmaps "a" is forbidden: User "{ME}" cannot impersonate-on:serviceaccount:patch {WHERE}'


async def test_only_the_name_of_the_account_is_sent() -> None:
    """The API server knows its groups; with groups in the request hookrunner would need the right to act as these."""
    heard: list[dict[str, str]] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        heard.append({name: text for name, text in request.headers.items() if name.startswith("Impersonate")})
        refusal = {"kind": "Status", "reason": "Forbidden", "message": LACKS}
        return web.json_response(refusal, status=403) if heard[-1] else web.json_response({})

    async with RawTestServer(answer) as server:
        credentials = Credentials(KubeSettings(), Connection(f"http://{server.host}:{server.port}"))
        async with Client(credentials, Requests(Metrics(""))) as own:
            with pytest.raises(AccountDenied):
                await acting_as(own, DEPLOYER).get(PATH)
            assert own.lacked.conditions == {}, "hookrunner lacks nothing"
            assert acting_as(own, None) is own
            await own.get(PATH)
    assert heard == [{"Impersonate-User": DEPLOYER.user}, {}]


def test_the_role_to_change_is_that_of_the_account() -> None:
    error = name_missing_rule(api_error(403, "Forbidden", LACKS), None, DEPLOYER.user)
    explained = explain_rights(error, "keep configmaps of a release", "{rule}")
    assert isinstance(explained, AccountDenied)
    assert str(explained).startswith(
        "no right to keep configmaps of a release: add {rule} to the role of ServiceAccount shop/deployer ("
    )


@each("message", [PLAIN, CONSTRAINED])
def test_the_right_to_act_as_it_is_hookrunners(message: str) -> None:
    error = name_missing_rule(api_error(403, "Forbidden", message), None, DEPLOYER.user)
    assert type(error) is Denied
    assert lacks_rights(error)
    assert str(explain_rights(error, "keep configmaps of a release", "{rule}")).startswith(
        'no right to act as ServiceAccount shop/deployer: add {apiGroups: [""], resources: [serviceaccounts], '
        "resourceNames: [deployer], verbs: [impersonate]} in namespace shop to the role of hookrunner's ServiceAccount"
    )


@each(("policy", "says_nothing"), [("hookrunner-protect.home", True), ("company-rules", False)])
def test_a_policy_that_does_not_know_a_new_account_yet_says_nothing_about_a_version(
    policy: str, says_nothing: bool
) -> None:
    """A failed upgrade would be rolled back for it, and stay so."""
    text = f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: it belongs to DNS shop/x"
    refused = api_error(403, "Forbidden", f'clusterroles.rbac.authorization.k8s.io "a" is forbidden: {text}')
    error = name_missing_rule(refused, None, DEPLOYER.user)
    assert lacks_rights(error) is says_nothing
    assert text in str(explain_rights(error, "keep clusterroles of a release", "{rule}")), "as it is"
    assert "{rule}" not in str(explain_rights(error, "keep clusterroles of a release", "{rule}"))
