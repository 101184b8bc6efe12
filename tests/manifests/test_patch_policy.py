"""What instances may patch: judged by what became of the objects, whatever the patches look like. Level: pure."""

import json
import pickle
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.errors import BadPatch
from hookrunner.manifests.patch_policy import PatchPolicy, refused_changes, require_allowed, require_patches_on
from hookrunner.manifests.patches import apply_patches, require_patches
from hookrunner.model.addons import PatchRule
from hookrunner.model.sourced_objects import SourcedObject
from kubetypes.json_values import JSON
from tests.manifests.conftest import sourced
from tests.tables import each

WEB = {"name": "web", "image": "nginx:1", "args": ["-v"], "securityContext": {"runAsNonRoot": True}}
SIDE = {"name": "side", "image": "side:1"}
POD = {
    "serviceAccountName": "web",
    "containers": [WEB, SIDE],
    "initContainers": [{"name": "first", "image": "a"}, {"name": "second", "image": "b"}],
    "volumes": [{"name": "config", "configMap": {"name": "web"}}, {"name": "logs", "hostPath": {"path": "/var/log"}}],
}
DEPLOYMENT = sourced(
    "Deployment",
    "web",
    "apps",
    "apps/v1",
    spec={"replicas": 1, "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD}},
)
CONFIG = sourced("ConfigMap", "web", "apps", data={"a.conf": "x"})
GRANTS = "rbac.authorization.k8s.io/v1"
OBJECTS = [
    DEPLOYMENT,
    CONFIG,
    sourced("ClusterRole", "web", api_version=GRANTS, rules=[]),
    sourced("ClusterRoleBinding", "web", api_version=GRANTS, subjects=[], roleRef={"name": "web"}),
    sourced("ServiceAccount", "web", "apps"),
    sourced("APIService", "v1.web", api_version="apiregistration.k8s.io/v1", spec={"service": {"name": "web"}}),
    sourced("MutatingWebhookConfiguration", "web", api_version="admissionregistration.k8s.io/v1", webhooks=[]),
    sourced("CustomResourceDefinition", "webs.x.io", api_version="apiextensions.k8s.io/v1", spec={"group": "x.io"}),
    sourced("Secret", "web", "apps", type="Opaque", data={"key": "eA=="}),
    sourced("Thing", "web", "apps", "x.io/v1", spec={"size": 1}),
]
EVERYTHING = tuple(
    PatchRule(kind, ("metadata", "spec", "data", "type", "rules", "subjects", "roleRef", "webhooks", "secrets"))
    for kind in {source.kind for source in OBJECTS}
)


def pods(**pod: JSON) -> JSON:
    return deployment(template={"spec": pod})


def deployment(**spec: JSON) -> JSON:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def part(source: SourcedObject, **fields: JSON) -> JSON:
    metadata = {"name": source.name} | fields.pop("metadata", {})
    return {"apiVersion": source.api_version, "kind": source.kind, "metadata": metadata, **fields}


def of(kind: str, **fields: JSON) -> JSON:
    return part(next(source for source in OBJECTS if source.kind == kind), **fields)


def steps(*operations: JSON, kind: str = "Deployment") -> JSON:
    source = next(source for source in OBJECTS if source.kind == kind)
    target = {"apiVersion": source.api_version, "kind": kind, "name": source.name}
    return {"target": target, "jsonPatch": list(operations)}


def refusal(*patches: JSON, rules: tuple[PatchRule, ...] = ()) -> str:
    """What is refused of these patches, "" for nothing."""
    require_patches(patched := apply_patches(OBJECTS, patches))
    policy = PatchPolicy("listed", rules)
    if not list(refused_changes(OBJECTS, patched.objects, policy)):
        require_allowed(OBJECTS, patched.objects, policy)
        return ""
    with pytest.raises(BadPatch) as refused:
        require_allowed(OBJECTS, patched.objects, policy)
    assert refused.value.reason == "NotAllowed"
    return str(refused.value)


AT = "/spec/template/spec"
MALLORY = pods(
    serviceAccountName="clusterrole-aggregation-controller",
    hostPID=True,
    volumes=[{"name": "host", "hostPath": {"path": "/"}}],
    containers=[
        {
            "name": "web",
            "image": "attacker/img",
            "securityContext": {"privileged": True, "allowPrivilegeEscalation": True},
            "volumeMounts": [{"name": "host", "mountPath": "/host"}],
        }
    ],
)
ADMIN = of("ClusterRole", rules=[{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
BOUND = of("ClusterRoleBinding", subjects=[{"kind": "User", "name": "mallory"}])


@each(
    "patch",
    [
        deployment(replicas=3),
        pods(containers=[{"name": "side", "resources": {"limits": {"cpu": 1}}}, {"name": "web", "resources": {}}]),
        pods(initContainers=[{"name": "first", "resources": {"limits": {"cpu": 1}}}]),
        pods(nodeSelector={"privileged": "no"}, tolerations=[{"operator": "Exists"}], affinity={"podAffinity": {}}),
        pods(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]),
        deployment(template={"metadata": {"labels": {"team": "a"}, "annotations": {"example.com/x": "y"}}}),
        of("Deployment", metadata={"labels": {"team": "a"}, "annotations": {"prometheus.io/scrape": "true"}}),
        pods(containers=[{"name": "web", "image": "nginx:1"}]),
    ],
)
def test_common_changes_of_workloads_need_no_list(patch: JSON) -> None:
    assert refusal(patch) == ""


@each(
    "patch, path",
    [
        (pods(containers=[{"name": "web", "image": "evil"}]), "spec.template.spec.containers[name=web].image"),
        (pods(containers=[{"name": "web", "args": ["-c"]}]), "spec.template.spec.containers[name=web].args"),
        (pods(containers=[{"name": "new", "image": "evil"}]), "spec.template.spec.containers[name=new]"),
        (pods(initContainers=[{"name": "new", "image": "e"}]), "spec.template.spec.initContainers[name=new]"),
        (pods(containers=[{"name": "side", "$patch": "delete"}]), "spec.template.spec.containers[name=side]"),
        (pods(containers=[{"name": "web", "env": [{"name": "A", "value": "b"}]}]), "containers[name=web].env[name=A]"),
        (pods(priorityClassName="system-node-critical"), "spec.template.spec.priorityClassName"),
        (pods(nodeName="n"), "spec.template.spec.nodeName"),
        (pods(hostAliases=[{"ip": "10.0.0.1", "hostnames": ["api"]}]), "spec.template.spec.hostAliases"),
        (
            pods(**{"$setElementOrder/initContainers": [{"name": "second"}, {"name": "first"}]}),
            "the order of spec.template.spec.initContainers",
        ),
        (steps({"op": "copy", "from": f"{AT}/containers/1/image", "path": f"{AT}/containers/0/image"}), "].image"),
        (steps({"op": "replace", "path": f"{AT}/containers/1/name", "value": "x"}), "containers[name=x]"),
        (steps({"op": "move", "from": f"{AT}/initContainers/0", "path": f"{AT}/containers/-"}), "[name=first]"),
        (deployment(**{"$retainKeys": ["template"]}) | {"spec": {"$patch": "replace"}}, "containers[name=web]"),
        (of("ConfigMap", data={"a.conf": "y"}), "data[a.conf]"),
        (of("ConfigMap", metadata={"labels": {"a": "b"}}), "metadata.labels.a"),
        (of("Thing", spec={"size": 2}), "spec.size"),
    ],
)
def test_other_changes_must_be_listed(patch: JSON, path: str) -> None:
    message = refusal(patch)
    assert f"{path}" in message
    assert "`patches` in addon.yaml" in message
    assert "--addon-patches all" in message


RULES = (
    PatchRule("Deployment", ("spec.template.spec.containers[name=web].image", "spec.strategy"), name="web"),
    PatchRule("ConfigMap", ("data",)),
    PatchRule("Deployment", ("spec.template.spec.containers[*].args",), name="other"),
)


@each(
    "patch, allowed",
    [
        (pods(containers=[{"name": "web", "image": "mine"}]), True),
        (deployment(strategy={"type": "Recreate"}), True),
        (deployment(replicas=3), True),
        (of("ConfigMap", data={"new": "y", "securityContext": "no field"}), True),
        (pods(containers=[{"name": "side", "image": "mine"}]), False),
        (pods(containers=[{"name": "web", "args": []}]), False),
        (steps({"op": "replace", "path": f"{AT}/containers/1/name", "value": "web"}), False),
    ],
)
def test_an_addon_lists_what_else_may_be_patched(patch: JSON, allowed: bool) -> None:
    assert (refusal(patch, rules=RULES) == "") is allowed


@each(
    "patch, path",
    [
        (MALLORY, "spec.template.spec.serviceAccountName"),
        (ADMIN, "any ClusterRole ("),
        (BOUND, "any ClusterRoleBinding"),
        (of("ServiceAccount", metadata={"annotations": {"eks.amazonaws.com/role-arn": "x"}}), "any ServiceAccount"),
        (of("APIService", spec={"insecureSkipTLSVerify": True}), "any APIService"),
        (of("MutatingWebhookConfiguration", webhooks=[{"name": "a.b.c"}]), "any MutatingWebhookConfiguration"),
        (of("CustomResourceDefinition", spec={"conversion": {"strategy": "Webhook"}}), "any CustomResourceDefinition"),
        (of("Secret", metadata={"annotations": {"kubernetes.io/service-account.name": "admin"}}), "service-account"),
        (of("Deployment", metadata={"finalizers": ["example.com/a"]}), "metadata.finalizers"),
        (of("Deployment", metadata={"ownerReferences": [{"uid": "1", "kind": "Node"}]}), "metadata.ownerReferences"),
        (of("Deployment", metadata={"labels": {"hookrunner.io/addon": "x"}}), "metadata.labels[hookrunner.io/addon]"),
        (of("Deployment", metadata={"annotations": {"meta.helm.sh/release-name": "x"}}), "meta.helm.sh"),
        (
            deployment(
                template={"metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/web": ""}}}
            ),
            "spec.template.metadata.annotations[container.apparmor",
        ),
        (pods(automountServiceAccountToken=True), "spec.template.spec.automountServiceAccountToken"),
        (pods(hostNetwork=True), "spec.template.spec.hostNetwork"),
        (pods(runtimeClassName="runc"), "spec.template.spec.runtimeClassName"),
        (pods(securityContext={"runAsUser": 0}), "spec.template.spec.securityContext"),
        (pods(containers=[{"name": "web", "securityContext": None}]), "containers[name=web].securityContext"),
        (pods(containers=[{"name": "web", "$patch": "delete"}]), "containers[name=web].securityContext"),
        (pods(containers=[{"name": "x", "image": "y", "securityContext": {"privileged": True}}]), "[name=x].secur"),
        (pods(initContainers=[{"name": "x", "securityContext": {"capabilities": {"add": ["BPF"]}}}]), "[name=x].secur"),
        (pods(containers=[{"name": "web", "ports": [{"containerPort": 1, "hostPort": 1}]}]), "].hostPort"),
        (pods(containers=[{"name": "web", "livenessProbe": {"httpGet": {"host": "169.254.169.254"}}}]), "httpGet.host"),
        (pods(volumes=[{"name": "t", "projected": {"sources": [{"serviceAccountToken": {}}]}}]), "[name=t].projected"),
        (pods(volumes=[{"name": "t", "csi": {"driver": "x"}}]), "volumes[name=t].csi"),
        (pods(volumes=[{"name": "t", "secret": {"secretName": "x"}}]), "volumes[name=t].secret"),
        (pods(volumes=[{"name": "config", "hostPath": {"path": "/"}}]), "volumes[name=config].hostPath"),
        (pods(volumes=[{"name": "logs", "hostPath": {"path": "/"}}]), "volumes[name=logs].hostPath"),
        (
            pods(containers=[{"name": "web", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "x"}}}]}]),
            "env[name=A].valueFrom.secretKeyRef",
        ),
        (pods(containers=[{"name": "web", "envFrom": [{"secretRef": {"name": "x"}}]}]), "].secretRef"),
        (steps({"op": "add", "path": f"{AT}/volumes/-", "value": {"hostPath": {"path": "/"}}}), "volumes[*].hostPath"),
        (steps({"op": "move", "from": f"{AT}/volumes/1/hostPath", "path": f"{AT}/volumes/0/hostPath"}), "hostPath"),
        (steps({"op": "copy", "from": f"{AT}/containers/0/securityContext", "path": f"{AT}/securityContext"}), "secur"),
        (of("Thing", spec={"pod": {"template": [{"serviceAccountName": "admin"}]}}), "spec.pod.template[*].serviceA"),
    ],
)
def test_no_addon_can_list_what_gives_rights(patch: JSON, path: str) -> None:
    message = refusal(patch, rules=EVERYTHING)
    assert "`patches` in addon.yaml cannot allow" in message
    assert path in message
    assert "does not list" not in message


def test_a_refusal_names_object_path_reason_flag_and_key() -> None:
    assert refusal(pods(hostPID=True, containers=[{"name": "web", "image": "secret-image"}])) == (
        "spec.patches: Deployment apps/web (web.yaml): `patches` in addon.yaml cannot allow spec.template.spec."
        "hostPID (access to the node); `patches` in addon.yaml does not list spec.template.spec.containers[name=web]"
        ".image. Remove that from spec.patches, let `patches` in addon.yaml list it, or start hookrunner with "
        "--addon-patches all, which lets all authors of instances change everything that it installs"
    )


def test_what_several_patches_do_together_counts() -> None:
    """A patch that undoes another one has done nothing."""
    back = [{"op": "remove", "path": f"{AT}/hostPID"}]
    assert refusal(pods(hostPID=True), steps(*back)) == ""
    hidden = [{"op": "add", "path": "/spec/template/metadata/annotations", "value": {"x": True}}]
    moved = [{"op": "move", "from": "/spec/template/metadata/annotations/x", "path": f"{AT}/hostPID"}]
    assert "spec.template.spec.hostPID" in refusal(steps(*hidden), steps(*moved))


def test_modes_allow_all_or_none() -> None:
    patched = apply_patches(OBJECTS, [MALLORY, ADMIN, BOUND]).objects
    require_allowed(OBJECTS, patched, PatchPolicy("all"))
    require_patches_on(PatchPolicy("none"), [])
    with pytest.raises(BadPatch, match=r"applies no patches \(--addon-patches none"):
        require_patches_on(PatchPolicy("none"), [deployment(replicas=1)])


def test_the_decision_travels_between_processes() -> None:
    patched = apply_patches(OBJECTS, [MALLORY]).objects
    order = pickle.loads(pickle.dumps((OBJECTS, patched, PatchPolicy("listed", RULES))))  # noqa: S301
    refused = list(refused_changes(*order))
    assert pickle.loads(pickle.dumps(refused)) == refused  # noqa: S301


KEYS = st.sampled_from(["containers", "name", "spec", "securityContext", "volumes", "hostPath", "labels", "metadata"])
DOCUMENTS = st.recursive(
    st.sampled_from(["x", "y", True, 1]),
    lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=12,
)
ALL = (PatchRule("Thing", ("spec",)),)


@given(DOCUMENTS, DOCUMENTS)
def test_nothing_under_a_name_of_a_right_differs_once_it_is_allowed(before: JSON, after: JSON) -> None:
    old, new = (sourced("Thing", "a", "b", "x.io/v1", spec=deepcopy(spec)) for spec in (before, after))
    if not list(refused_changes([old], [new], PatchPolicy("listed", ALL))):
        assert rights(old.obj) == rights(new.obj)


def rights(value: JSON) -> list[str]:
    """The texts of all values of keys that give rights, at any depth but among labels."""
    if isinstance(value, list):
        return sorted(text for item in value for text in rights(item))
    if not isinstance(value, dict):
        return []
    own = [json.dumps(value[key], sort_keys=True) for key in ("securityContext", "hostPath") if key in value]
    return sorted([*own, *(text for key, inner in value.items() if key != "labels" for text in rights(inner))])
