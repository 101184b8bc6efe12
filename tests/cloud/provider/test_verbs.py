"""What is written beside the table of verbs agrees with it: the schema, the words of errors, what may run at once.

Level: pure."""

import json
from importlib import resources

import pytest

from hookrunner.cloud.answers import Interface, ProviderError
from hookrunner.cloud.provider import verbs
from hookrunner.cloud.provider.wire_answers import read_answer, result_of
from hookrunner.cloud.services.balancer_provider import LoadBalancerRequest
from kubetypes.json_values import JSON


def schema() -> JSON:
    return json.loads(resources.files("hookrunner.cloud.provider").joinpath("wire.schema.json").read_bytes())


def test_schema_has_params_and_a_result_for_each_verb_and_no_others() -> None:
    known = schema()
    assert set(known["params"]) == {verb.params.key for verb in verbs.VERBS}
    assert list(known["purposes"]) == list(known["results"]) == list(verbs.BY_NAME)


def test_capabilities_have_each_interface_and_a_timeout_of_each_verb() -> None:
    fields = schema()["results"]["capabilities"]["properties"]
    assert list(fields["interfaces"]["properties"]) == list(Interface)
    assert list(fields["limits"]["properties"]["timeoutSeconds"]["properties"]) == list(verbs.BY_NAME)


def test_error_names_the_verbs_that_may_find_nothing() -> None:
    names = " and ".join(verb.name for verb in verbs.VERBS if verb.absent_is_done)
    with pytest.raises(ProviderError, match=f"only {names} can"):
        result_of(read_answer(b'{"error": {"code": "NotFound", "message": "x"}}'), verbs.LB_GET, "r1")


def test_calls_about_one_thing_share_a_lane() -> None:
    request = LoadBalancerRequest({"metadata": {"name": "web", "uid": "u1"}}, "a1")
    about_service = (verbs.SERVICE, verbs.SERVICE_WITH_NODES)
    of_service = {verb.lane(request) for verb in verbs.VERBS if verb.params in about_service}
    of_routes = {verb.lane(None) for verb in verbs.VERBS if verb.interface is Interface.ROUTES}
    assert (of_service, of_routes, verbs.LB_LIST.lane(None)) == ({"loadBalancer u1"}, {"routes"}, "")
