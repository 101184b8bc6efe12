"""Reviews: their contexts (docs/webhooks.md), which webhooks the API server would call, and verdicts. Level: pure."""

import sys
from typing import Any

import pytest

from hookrunner.errors import BadInput
from hookrunner.testing.bench import Bench
from hookrunner.testing.happenings import Conversion, Given, NotRun, Review
from hookrunner.testing.results import Result
from hookrunner.testing.reviews import UID
from tests.fakes.cluster import namespace
from tests.testing.conftest import Author

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "labels": {"app": "a"}}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


ALLOW = "echo '{\"allowed\": true}' > $VALIDATING_RESPONSE_PATH"


def binding(**more: Any) -> dict[str, Any]:
    return {"name": "a.example.com", "rules": [RULE], **more}


async def contexts(
    tools: Bench, write_hook: Author, config: dict[str, Any], happening: Review | Conversion, *given: Any
) -> Any:
    return await tools.contexts(await tools.load(write_hook(config)), Given(given), happening)


async def test_create_review_carries_the_object(tools: Bench, write_hook: Author) -> None:
    (context,) = await contexts(tools, write_hook, {"kubernetesValidating": [binding()]}, Review("CREATE", POD))
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    assert context == {
        "binding": "a.example.com",
        "type": "Validating",
        "review": {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": UID,
                "kind": kind,
                "resource": resource,
                "requestKind": kind,
                "requestResource": resource,
                "name": "p",
                "namespace": "n",
                "operation": "CREATE",
                "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
                "object": POD,
                "oldObject": None,
                "dryRun": False,
                "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            },
        },
    }


async def test_delete_review_carries_the_old_object(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetesMutating": [binding(rules=[RULE | {"operations": ["*"], "resources": ["nodes"]}])]}
    (context,) = await contexts(tools, write_hook, config, Review("DELETE", NODE, dry_run=True))
    request = context["review"]["request"]
    assert context["type"] == "Mutating"
    assert (request["object"], request["oldObject"], request["dryRun"], "namespace" in request) == (
        None,
        NODE,
        True,
        False,
    )


async def test_a_review_carries_snapshots(tools: Bench, write_hook: Author) -> None:
    own = binding(includeSnapshotsFrom=["ns"])
    config = {"kubernetesValidating": [own], "kubernetes": [{"name": "ns", "kind": "ns", "jqFilter": ".metadata.name"}]}
    (context,) = await contexts(tools, write_hook, config, Review("CREATE", POD), namespace("n"))
    assert [entry["filterResult"] for entry in context["snapshots"]["ns"]] == ["n"]


async def test_namespaced_rule_needs_an_object_with_a_namespace(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetesValidating": [binding(rules=[RULE | {"resources": ["*"], "scope": "Namespaced"}])]}
    with pytest.raises(NotRun, match=r"the object has no metadata\.namespace; kubectl would fill it in"):
        await contexts(tools, write_hook, config, Review("CREATE", NODE))


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"rules": [RULE | {"apiGroups": ["apps"]}]}, "rules: apiGroups: '' is none of ['apps']"),
        ({"rules": [RULE | {"apiVersions": ["v2"]}]}, "apiVersions: 'v1' is none of ['v2']"),
        ({"rules": [RULE | {"resources": ["nodes", "pods/status"]}]}, "resources: 'pods' is none of"),
        ({"rules": [RULE | {"operations": ["UPDATE"]}]}, "operations: 'CREATE' is none of ['UPDATE']"),
        ({"rules": [RULE | {"scope": "Cluster"}]}, "scope: the rule is for Cluster, and the object is Namespaced"),
        ({"labelSelector": {"matchLabels": {"app": "b"}}}, "labelSelector: 'app=b' does not hold"),
        ({"namespace": {"labelSelector": {"matchLabels": {"t": "b"}}}}, "'t=b' does not hold for the labels"),
    ],
)
async def test_review_outside_the_rules_names_the_condition(
    own: dict[str, Any], message: str, tools: Bench, write_hook: Author
) -> None:
    config = {"kubernetesValidating": [binding(**own)]}
    with pytest.raises(NotRun) as found:
        await contexts(tools, write_hook, config, Review("CREATE", POD), namespace("n", t="a"))
    assert message in str(found.value)


async def test_binding_with_fitting_rules_is_chosen(tools: Bench, write_hook: Author) -> None:
    other = binding(name="b.example.com", rules=[RULE | {"resources": ["nodes"]}])
    config = {"kubernetesValidating": [binding()], "kubernetesMutating": [other]}
    (context,) = await contexts(tools, write_hook, config, Review("CREATE", NODE))
    assert (context["binding"], context["type"]) == ("b.example.com", "Mutating")
    with pytest.raises(NotRun, match="resources: 'pods' is none of"):
        await contexts(tools, write_hook, config, Review("CREATE", POD, binding="b.example.com"))


@pytest.mark.parametrize(
    ("review", "message"),
    [
        (Review("PATCH", POD), "operation 'PATCH' is none of CREATE"),
        (Review("CREATE"), "a review needs an object"),
        (Review("UPDATE", POD), "an UPDATE needs the object as it was, too"),
    ],
)
async def test_contradictory_review_is_refused(review: Review, message: str, tools: Bench, write_hook: Author) -> None:
    with pytest.raises(BadInput, match=message):
        await contexts(tools, write_hook, {"kubernetesValidating": [binding()]}, review)


async def test_connecting_to_an_object_is_reviewed(tools: Bench, write_hook: Author) -> None:
    options = {"apiVersion": "v1", "kind": "PodExecOptions", "metadata": POD["metadata"], "command": ["sh"]}
    rule = RULE | {"operations": ["CONNECT"], "resources": ["*/exec"]}
    config = {"kubernetesValidating": [binding(rules=[rule])]}
    (context,) = await contexts(tools, write_hook, config, Review("CONNECT", options))
    request = context["review"]["request"]
    assert (request["resource"]["resource"], request["subResource"], request["name"]) == ("pods", "exec", "p")
    assert (request["object"]["command"], "metadata" in request["object"]) == (["sh"], False)


async def test_subresource_is_reviewed(tools: Bench, write_hook: Author) -> None:
    rule = RULE | {"operations": ["UPDATE"], "resources": ["pods/status"]}
    config = {"kubernetesValidating": [binding(rules=[rule])]}
    (context,) = await contexts(tools, write_hook, config, Review("UPDATE", POD, POD, dry_run=True, part="status"))
    request = context["review"]["request"]
    assert (request["subResource"], request["requestSubResource"], request["object"]) == ("status", "status", POD)
    assert request["options"] == {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]}


async def test_eviction_is_a_create_of_a_pod_subresource(tools: Bench, write_hook: Author) -> None:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": POD["metadata"]}
    config = {"kubernetesValidating": [binding(rules=[RULE | {"resources": ["pods/eviction"]}])]}
    (context,) = await contexts(tools, write_hook, config, Review("CREATE", eviction))
    request = context["review"]["request"]
    assert (request["kind"]["group"], request["resource"]["group"], request["object"]) == ("policy", "", eviction)


async def test_rules_without_the_subresource_do_not_cover_it(tools: Bench, write_hook: Author) -> None:
    options = {"apiVersion": "v1", "kind": "PodExecOptions", "metadata": POD["metadata"]}
    rule = RULE | {"operations": ["CONNECT"], "resources": ["pods", "pods/log", "nodes/exec"]}
    config = {"kubernetesValidating": [binding(rules=[rule])]}
    with pytest.raises(NotRun, match="resources: 'pods/exec' is none of"):
        await contexts(tools, write_hook, config, Review("CONNECT", options))


async def test_namespace_is_selected_by_its_own_labels(tools: Bench, write_hook: Author) -> None:
    own = binding(
        rules=[RULE | {"resources": ["namespaces"]}], namespace={"labelSelector": {"matchLabels": {"t": "a"}}}
    )
    config = {"kubernetesValidating": [own]}
    assert await contexts(tools, write_hook, config, Review("CREATE", namespace("x", t="a")))
    with pytest.raises(NotRun, match="'t=a' does not hold for the labels of Namespace 'x'"):
        await contexts(tools, write_hook, config, Review("CREATE", namespace("x", t="b")))


async def test_webhook_configurations_are_not_reviewed(tools: Bench, write_hook: Author) -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    config = {"kubernetesValidating": [binding(rules=[rule])]}
    with pytest.raises(NotRun, match="asks no webhook about validatingwebhookconfigurations"):
        await contexts(tools, write_hook, config, Review("CREATE", kind | {"metadata": {"name": "x"}}))


def conditional(expression: str, **more: Any) -> dict[str, Any]:
    return {"kubernetesValidating": [binding(matchConditions=[{"name": "c", "expression": expression}], **more)]}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (conditional('object.metadata.name != "p"'), "matchConditions: 'c' is false: object"),
        (conditional("object.spec.x == 1"), "resulted in error: no such key: spec; with failurePolicy Fail the API"),
        (conditional("object.spec.x == 1", failurePolicy="Ignore"), "Ignore the API server leaves the webhook out"),
    ],
)
async def test_false_match_condition_skips_the_review(
    config: dict[str, Any], message: str, tools: Bench, write_hook: Author
) -> None:
    with pytest.raises(NotRun) as found:
        await contexts(tools, write_hook, config, Review("CREATE", POD))
    assert message in str(found.value)


async def test_true_match_conditions_have_no_effect(tools: Bench, write_hook: Author) -> None:
    hook = await tools.load(write_hook(conditional('object.metadata.name == "p"'), ALLOW))
    result = await tools.run(hook, Given(), Review("CREATE", POD))
    assert (result.ok, result.notes) == (True, ())


async def test_match_conditions_that_cannot_be_evaluated_are_reported(
    tools: Bench, write_hook: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = await tools.load(write_hook(conditional('quantity("1").isInteger()'), ALLOW))
    (note,) = (await tools.run(hook, Given(), Review("CREATE", POD))).notes
    assert note.startswith("matchConditions of a.example.com cannot be evaluated: 1:9: undeclared reference")
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    (note,) = (await tools.run(hook, Given(), Review("CREATE", POD))).notes
    assert note == "matchConditions of a.example.com are not evaluated: install hookrunner[cel]"


async def test_a_hook_may_skip_dry_runs(tools: Bench, write_hook: Author) -> None:
    hook = await tools.load(write_hook({"settings": {"onDryRun": "skip"}, "kubernetesValidating": [binding()]}, ALLOW))
    result = await tools.run(hook, Given(), Review("CREATE", POD, dry_run=True))
    assert (result.ran, "onDryRun is skip" in result.reason) == (False, True)
    assert (await tools.run(hook, Given(), Review("CREATE", POD))).ran


async def test_operations_of_a_dry_run_are_not_carried_out(tools: Bench, write_hook: Author) -> None:
    script = ALLOW + '\necho \'{"operation": "Delete", "kind": "Pod", "name": "a"}\' > $KUBERNETES_PATCH_PATH'
    hook = await tools.load(write_hook({"kubernetesValidating": [binding()]}, script))
    result = await tools.run(hook, Given(), Review("CREATE", POD, dry_run=True))
    assert (len(result.patches), result.carried_out) == (1, ())
    assert len((await tools.run(hook, Given(), Review("CREATE", POD))).carried_out) == 1


CRON = {"apiVersion": "stable.example.com/v1alpha1", "kind": "CronTab", "metadata": {"name": "c"}}
UP = {
    "name": "up",
    "crdName": "crontabs.stable.example.com",
    "conversions": [{"fromVersion": "v1alpha1", "toVersion": "v1beta1"}, {"fromVersion": "v1beta1", "toVersion": "v1"}],
}


async def test_conversion_uses_the_fitting_rule(tools: Bench, write_hook: Author) -> None:
    config = {"kubernetesCustomResourceConversion": [UP]}
    (context,) = await contexts(tools, write_hook, config, Conversion((CRON,)))
    request = {"uid": UID, "desiredAPIVersion": "stable.example.com/v1beta1", "objects": [CRON]}
    assert context == {
        "binding": "up",
        "type": "Conversion",
        "fromVersion": "v1alpha1",
        "toVersion": "v1beta1",
        "review": {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request},
    }


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("v1", r"the way from .*/v1alpha1 to v1 has 2 steps \(v1alpha1→v1beta1→v1\), each a run: convert to v1beta1;"),
        ("v1alpha1", r"the objects are in stable.example.com/v1alpha1 already: the API server does not ask; it has"),
        ("v2", r"no rule leads from stable.example.com/v1alpha1 to v2; it has v1alpha1→v1beta1, v1beta1→v1$"),
    ],
)
async def test_conversion_without_a_rule_lists_existing_rules(
    to: str, message: str, tools: Bench, write_hook: Author
) -> None:
    with pytest.raises(NotRun, match=message):
        await contexts(tools, write_hook, {"kubernetesCustomResourceConversion": [UP]}, Conversion((CRON,), to=to))


async def test_objects_of_several_versions_are_refused(tools: Bench, write_hook: Author) -> None:
    other = CRON | {"apiVersion": "stable.example.com/v1beta1"}
    with pytest.raises(BadInput, match="one version are converted at a time, these have stable"):
        await contexts(tools, write_hook, {"kubernetesCustomResourceConversion": [UP]}, Conversion((CRON, other)))


async def ran(tools: Bench, write_hook: Author, script: str, happening: Review | Conversion) -> Result:
    config = {"kubernetesMutating": [binding()], "kubernetesCustomResourceConversion": [UP]}
    return await tools.run(await tools.load(write_hook(config, script)), Given(), happening)


@pytest.mark.parametrize(
    ("script", "happening", "verdict"),
    [
        ("echo '{\"allowed\": true}' > $VALIDATING_RESPONSE_PATH", Review("CREATE", POD), {"allowed": True}),
        (
            'echo \'{"message": "no"}\' > $ADMISSION_RESPONSE_PATH',
            Review("CREATE", POD),
            {"allowed": False, "code": 403, "message": "no"},
        ),
        (
            'patch=$(echo \'[{"op": "remove", "path": "/metadata/labels"}]\' | base64 -w0)\n'
            'echo "{\\"allowed\\": true, \\"patch\\": \\"$patch\\"}" > $ADMISSION_RESPONSE_PATH',
            Review("CREATE", POD),
            {"allowed": True, "patch": [{"op": "remove", "path": "/metadata/labels"}]},
        ),
        (
            "jq '{convertedObjects: [.[0].review.request.objects[] | .apiVersion = \"stable.example.com/v1beta1\"]}'"
            " $BINDING_CONTEXT_PATH > $CONVERSION_RESPONSE_PATH",
            Conversion((CRON,)),
            {"convertedObjects": [CRON | {"apiVersion": "stable.example.com/v1beta1"}]},
        ),
        (
            'echo \'{"failedMessage": "no"}\' > $CONVERSION_RESPONSE_PATH',
            Conversion((CRON,)),
            {"failedMessage": "no"},
        ),
        (
            'echo \'{"code": 422, "patch": [{"op": "remove", "path": ""}]}\' > $ADMISSION_RESPONSE_PATH',
            Review("CREATE", POD),
            {"allowed": False, "code": 422, "patch": [{"op": "remove", "path": ""}]},
        ),
    ],
)
async def test_verdict_is_part_of_the_result(
    script: str, happening: Review | Conversion, verdict: Any, tools: Bench, write_hook: Author
) -> None:
    result = await ran(tools, write_hook, script, happening)
    assert (result.failure, result.verdict) == ("", verdict)
    patched = {"name": "p", "namespace": "n"} if verdict.get("patch") and verdict["allowed"] else None
    assert (result.mutated and result.mutated["metadata"]) == patched


@pytest.mark.parametrize(
    ("script", "happening", "message"),
    [
        ("true", Review("CREATE", POD), "wrote nothing to VALIDATING_RESPONSE_PATH"),
        ("true", Conversion((CRON,)), "wrote nothing to CONVERSION_RESPONSE_PATH"),
        (
            'echo \'{"allowed": true, "patch": [{"op": "remove", "path": "/a"}]}\' > $ADMISSION_RESPONSE_PATH',
            Review("CREATE", POD),
            "patch[0] of the admission response, `remove /a`, cannot be applied to the object",
        ),
        ("echo '[]' > $VALIDATING_RESPONSE_PATH", Review("CREATE", POD), "got bad validating response"),
        (
            "echo '{\"convertedObjects\": []}' > $CONVERSION_RESPONSE_PATH",
            Conversion((CRON,)),
            "v1alpha1→v1beta1: did not come back (1 sent, 0 returned): CronTab c",
        ),
    ],
)
async def test_run_without_a_verdict_fails(
    script: str, happening: Review | Conversion, message: str, tools: Bench, write_hook: Author
) -> None:
    assert message in (await ran(tools, write_hook, script, happening)).failure
