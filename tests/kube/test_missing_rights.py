"""A refusal for a missing right names the rule that grants it. Level: pure."""

from hookrunner.errors import ApiError, api_error
from hookrunner.kube.refusals import explain_rights, lacks_rights, name_missing_rule
from tests.tables import each

ME = "system:serviceaccount:default:hookrunner"
ROLE = "to the role of hookrunner's ServiceAccount"
GRANT = (
    f'clusterroles.rbac.authorization.k8s.io "dns" is forbidden: user "{ME}" (groups=["system:serviceaccounts"]) is '
    "attempting to grant RBAC permissions not currently held:\n"
    '{APIGroups:[""], Resources:["endpoints" "pods"], Verbs:["list" "watch"]}\n'
    '{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["a"], Verbs:["get"]}\n'
    '{NonResourceURLs:["/metrics"], Verbs:["get"]}'
)


def refused(message: str) -> ApiError:
    return api_error(403, "Forbidden", message)


@each(
    ("message", "rule"),
    [
        (
            f'pods is forbidden: User "{ME}" cannot list resource "pods" in API group "" at the cluster scope',
            '{apiGroups: [""], resources: [pods], verbs: [list]}',
        ),
        (
            f'deployments.apps "web" is forbidden: User "{ME}" cannot patch resource "deployments/scale" in API group '
            '"apps" in the namespace "shop"',
            "{apiGroups: [apps], resources: [deployments/scale], verbs: [patch]}",
        ),
        (
            f'forbidden: User "{ME}" cannot get path "/metrics"',
            "{nonResourceURLs: [/metrics], verbs: [get]}",
        ),
    ],
)
def test_the_rule_for_the_refused_request_is_named_with_the_words_of_the_server(message: str, rule: str) -> None:
    named = str(name_missing_rule(refused(message)))
    assert f"add {rule} {ROLE} ({message})" in named


def test_a_role_that_grants_more_than_its_author_has_is_explained_by_these_rules() -> None:
    error = name_missing_rule(refused(GRANT))
    assert str(error).startswith('no right to grant what clusterroles.rbac.authorization.k8s.io "dns" has: add ')
    assert '{apiGroups: [""], resources: [endpoints, pods], verbs: [list, watch]} and ' in str(error)
    assert "{apiGroups: [apps], resources: [deployments], resourceNames: [a], verbs: [get]} and " in str(error)
    assert "{nonResourceURLs: [/metrics], verbs: [get]} to the role" in str(error)
    assert lacks_rights(error)


def test_all_verbs_of_a_feature_replace_the_one_that_was_missing() -> None:
    message = f'pods is forbidden: User "{ME}" cannot list resource "pods" in API group "" at the cluster scope'
    explained = explain_rights(name_missing_rule(refused(message)), "watch pods", "{rule}")
    assert str(explained) == f"no right to watch pods: add {{rule}} {ROLE} ({message})"


def test_what_a_role_grants_is_not_replaced_by_the_verbs_on_roles() -> None:
    error = name_missing_rule(refused(GRANT))
    assert explain_rights(error, "keep clusterroles of a release", "{rule}") is error


@each(
    "message",
    [
        'pods "a" is forbidden: exceeded quota: pods, used: 1, limited: 1',
        'admission webhook "w" denied the request: User "a" cannot get resource "hunter2" in API group "b"',
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" at the cluster scope',
    ],
)
def test_other_refusals_stay_unchanged(message: str) -> None:
    error = refused(message)
    assert name_missing_rule(error) is error
