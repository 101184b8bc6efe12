"""The spec of a policy of ours is written as a whole. Level: pure."""

from hookrunner.registration.admission_policies import BINDING, AdmissionPolicy
from hookrunner.registration.reconcile import InSync, WriteStep, claim, next_step
from hookrunner.registration.webhook_objects import TrustedCertificates
from kubetypes.json_values import JSON

SPEC: JSON = {"policyName": "a", "validationActions": ["Deny"]}
DESIRED = AdmissionPolicy(BINDING, "a", SPEC)
CLAIM, TRUST = claim(1.0), TrustedCertificates()


def written(desired: AdmissionPolicy, existing: JSON) -> JSON:
    """What is written over an object, None if nothing is."""
    step = next_step(desired, existing, TRUST, CLAIM)
    return (step.method, step.body) if isinstance(step, WriteStep) else None


def stored() -> JSON:
    """As the API server has it after the creation."""
    method, body = written(DESIRED, None)
    assert method == "POST"
    return body | {"metadata": body["metadata"] | {"uid": "u"}}


def test_fields_of_newer_api_servers_stay_and_known_ones_are_undone() -> None:
    newer = {"somethingNew": 1}
    assert written(DESIRED, stored() | {"spec": SPEC | newer}) is None
    for change in ({"validationActions": ["Audit"]}, {"paramRef": {"name": "x"}}, {"matchResources": {"a": {"b": 1}}}):
        method, body = written(DESIRED, stored() | {"spec": SPEC | newer | change})
        assert (method, body["spec"]) == ("PUT", SPEC)


def test_one_that_someone_else_has_written_is_taken_over_and_not_removed() -> None:
    theirs: JSON = {"metadata": {"name": "a", "labels": {"by": "someone"}}, "spec": SPEC}
    method, body = written(DESIRED, theirs)
    assert (method, body["metadata"]["labels"]["by"]) == ("PUT", "someone")
    assert next_step(AdmissionPolicy(BINDING, "a"), theirs, TRUST, CLAIM) == InSync(True)
    assert written(AdmissionPolicy(BINDING, "a"), body)[0] == "DELETE"
    assert next_step(AdmissionPolicy(BINDING, "a"), None, TRUST, CLAIM) == InSync(False)
