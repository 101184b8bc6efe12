"""Objects of an instance with `spec.protect` on a real control plane: whom the API server lets through, with hookrunner
and without it, and how the policy comes, is repaired and goes. Level: control plane."""

from pathlib import Path

import pytest

from kubetypes.json_values import JSON
from tests.controlplane.cluster import OwnCluster, RequestFailed
from tests.controlplane.rights import log_in
from tests.fakes.chart import render_rights
from tests.flows.addons.cluster_world import GROUP, ClusterWorld

DNS, UNIT = f"{GROUP}/coredns/default", "coredns.kube-system.default"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
POLICY, BINDING = (f"{POLICIES.removesuffix('ies')}{end}/hookrunner-protect.default" for end in ("ies", "ybindings"))
IN_SYSTEM = ("-n", "kube-system")
ALL = "system:masters"
"""The group of those to whom RBAC allows everything, an administrator who makes a mistake."""
LABEL = ("label", "deployment/coredns", *IN_SYSTEM, "--overwrite", "app.example.com/by=someone", "--dry-run=server")
REFUSED = "belongs to CoreDNS kube-system/default, which protects its objects: change the spec of that one instead"


@pytest.fixture
async def limited(there: ClusterWorld, whole_cluster: OwnCluster, tmp_path: Path) -> ClusterWorld:
    """Hookrunner with exactly the rights that the chart gives it for CoreDNS."""
    objects = render_rights("protection", "--set", "addons.enabled=true,addons.names={coredns}")
    account = log_in(whole_cluster, tmp_path, objects)
    there.world.operator.kubeconfig = there.proxy.kubeconfig_with(account.token)
    there.world.operator.flags += ("--addons=coredns", "--addon-protect-except=robot,sre")
    return there


def by(user: str, *groups: str) -> tuple[str, ...]:
    """The words by which kubectl acts for a user of these groups."""
    return (f"--as={user}", *(f"--as-group={group}" for group in (ALL, *groups)))


async def refusal(there: ClusterWorld, *words: str) -> str:
    """Why the API server refuses a command of kubectl, empty if it does not."""
    try:
        await there.kubectl(*words)
    except RequestFailed as error:
        return str(error)
    return ""


async def test_objects_are_protected_while_an_instance_asks_for_it(limited: ClusterWorld) -> None:
    there = limited
    await there.world.start()
    await there.install("coredns", DNS, {"protect": True})
    await there.reaches(DNS, {"phase": "Current"})
    await there.until(lambda: protected(there), ("True", "Enforced"), "the condition Protected")
    await there.until(lambda: is_refused(there), True, "the API server asks the policy")
    await users_are_refused(there)
    await others_are_not(there)
    await policy_is_repaired(there)
    await works_without_hookrunner(there)
    await own_writes_go_through(there)
    await ends_with_the_last_instance(there)
    await garbage_is_collected(there)


async def is_refused(there: ClusterWorld) -> bool:
    """Does the policy count? API servers learn of policies within a second or two."""
    return REFUSED in await refusal(there, *LABEL, *by("jane"))


async def protected(there: ClusterWorld) -> tuple[str, str]:
    """Status and reason of the condition, empty without it."""
    conditions = (await there.status(DNS)).get("conditions") or ()
    found = [(entry["status"], entry["reason"]) for entry in conditions if entry["type"] == "Protected"]
    return found[0] if found else ("", "")


async def users_are_refused(there: ClusterWorld) -> None:
    """Also administrators, and hookrunner's user on its own machine; of kinds without a namespace, too."""
    for user in ("jane", "kubernetes-admin", "system:serviceaccount:ci:bot"):
        assert REFUSED in await refusal(there, *LABEL, *by(user))
    jane = by("jane")
    assert REFUSED in await refusal(there, "delete", "configmap/coredns", *IN_SYSTEM, *jane)
    mark = ("-l", f"hookrunner.io/addon={UNIT}")
    assert REFUSED in await refusal(there, "delete", "serviceaccounts", *mark, *IN_SYSTEM, *jane)
    assert REFUSED in await refusal(there, "delete", "clusterrole/system:coredns", *jane)
    assert REFUSED in await refusal(there, "label", "deployment/coredns", *IN_SYSTEM, "hookrunner.io/addon-", *jane)
    assert REFUSED in await refusal(there, "rollout", "restart", "deployment/coredns", *IN_SYSTEM, *jane)
    for kind in ("namespace", "crd"):
        await made_part_of_the_instance(there, kind)


async def made_part_of_the_instance(there: ClusterWorld, kind: str) -> None:
    """An object with the instance's label, as its packages may have them."""
    names = {"plural": "pars", "singular": "par", "kind": "Par"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    bodies: dict[str, dict[str, JSON]] = {
        "namespace": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "part"}},
        "crd": {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "pars.example.com"},
            "spec": spec,
        },
    }
    body = bodies[kind]
    name = body["metadata"]["name"]
    await there.apply(body | {"metadata": {"name": name, "labels": {"hookrunner.io/addon": UNIT}}})
    assert REFUSED in await refusal(there, "delete", kind, name, *by("jane"))
    await there.kubectl("delete", kind, name, "--wait=false", *by("robot"))


async def others_are_not(there: ClusterWorld) -> None:
    accounts = "system:serviceaccounts"
    for allowed in (
        by("robot"),
        by("jane", "sre"),
        by("system:kube-controller-manager"),
        by("system:node:a", "system:nodes"),
        by("system:serviceaccount:kube-system:generic-garbage-collector", accounts, f"{accounts}:kube-system"),
        by("system:serviceaccount:kube-system:namespace-controller", accounts, f"{accounts}:kube-system"),
    ):
        assert await refusal(there, *LABEL, *allowed) == ""
    jane = by("jane")
    await there.kubectl("scale", "deployment/coredns", *IN_SYSTEM, "--replicas=3", *jane)
    await there.kubectl("scale", "deployment/coredns", *IN_SYSTEM, "--replicas=2", *jane)
    status = '{"status": {"conditions": []}}'
    await there.kubectl(
        "patch", "deployment/coredns", *IN_SYSTEM, "--subresource=status", "--type=merge", "-p", status, *jane
    )
    await there.kubectl("delete", "pods", "-l", "k8s-app=kube-dns", *IN_SYSTEM, "--wait=false", *jane)
    await there.kubectl("create", "configmap", "mine", *IN_SYSTEM, *jane)
    await there.kubectl("delete", "configmap", "mine", *IN_SYSTEM, *jane)


async def policy_is_repaired(there: ClusterWorld) -> None:
    """Deleted and emptied by an administrator, who may do that."""

    async def is_whole() -> bool:
        policy, binding = [await there.read(path) for path in (POLICY, BINDING)]
        rules = (policy.get("spec") or {}).get("validations") or ()
        return [REFUSED in rule["message"] for rule in rules] == [True] and binding.get("spec") == {
            "policyName": "hookrunner-protect.default",
            "validationActions": ["Deny"],
        }

    for path in (POLICY, BINDING):
        await there.world.ask("DELETE", path, None)
        await there.until(is_whole, True, f"{path} after its deletion")
    warn = '[{"op": "replace", "path": "/spec/validationActions", "value": ["Warn"]}]'
    await there.kubectl(
        "patch", "validatingadmissionpolicybinding/hookrunner-protect.default", "--type=json", "-p", warn
    )
    await there.until(is_whole, True, "the binding after a change")


async def works_without_hookrunner(there: ClusterWorld) -> None:
    """A restart writes neither policy nor binding."""

    async def versions() -> list[str]:
        return [(await there.read(path))["metadata"]["generation"] for path in (POLICY, BINDING)]

    await there.until(lambda: is_refused(there), True, "the repaired policy counts")
    before = await versions()
    await there.world.stop()
    assert await is_refused(there)
    await there.world.start()
    await there.change(DNS, {"timeout": "9m"})
    await there.reaches(DNS, {"phase": "Current"})
    assert (await versions(), await protected(there)) == (before, ("True", "Enforced"))


async def own_writes_go_through(there: ClusterWorld) -> None:
    """A change of the spec, an upgrade, and the repair of what an exempt user has done."""
    await there.change(DNS, {"version": "1.15.0"})
    await there.reaches(DNS, {"phase": "Current", "version": "1.15.0"})
    await there.kubectl("label", "service/kube-dns", *IN_SYSTEM, "--overwrite", "k8s-app=other", *by("robot"))

    async def label() -> str:
        return str((await there.shown("service/kube-dns"))["metadata"]["labels"]["k8s-app"])

    await there.until(label, "kube-dns", "the repaired Service")


async def is_kept(there: ClusterWorld) -> list[bool]:
    """Do policy and binding exist?"""
    return [bool(await there.read(path)) for path in (POLICY, BINDING)]


async def ends_with_the_last_instance(there: ClusterWorld) -> None:
    """Turned off and on again, and deleted with its instance."""
    await there.change(DNS, {"protect": False})
    await there.until(lambda: is_kept(there), [False, False], "no policy")
    await there.until(lambda: is_refused(there), False, "the API server forgets the policy")
    await there.until(lambda: protected(there), ("", ""), "no condition Protected")
    await there.change(DNS, {"protect": True})
    await there.until(lambda: protected(there), ("True", "Enforced"), "the condition Protected")
    await there.kubectl("delete", "coredns", "default", *IN_SYSTEM, "--timeout=180s")
    assert await there.marked(UNIT) == []
    await there.until(lambda: is_kept(there), [False, False], "no policy")


async def garbage_is_collected(there: ClusterWorld) -> None:
    """An instance that vanishes while hookrunner does not run: the garbage collector deletes what it owned, and the
    next start removes the rest, with the policy."""
    await there.install("coredns", DNS, {"protect": True})
    await there.until(lambda: is_refused(there), True, "the API server asks the policy")
    await there.world.stop()
    without = '[{"op": "remove", "path": "/metadata/finalizers"}]'
    await there.kubectl("patch", "coredns/default", *IN_SYSTEM, "--type=json", "-p", without)
    await there.kubectl("delete", "coredns/default", *IN_SYSTEM, "--timeout=180s", "--ignore-not-found")

    async def owned() -> list[str]:
        return [name for name in await there.marked(UNIT) if name.startswith(("deployment", "configmap", "service/"))]

    await there.until(owned, [], "what the garbage collector deletes")
    assert await is_kept(there) == [True, True]
    await there.world.start()
    await there.until(lambda: is_kept(there), [False, False], "no policy")
    await there.until(lambda: there.marked(UNIT), [], "what the garbage collector leaves")
    assert '"rights"' not in there.world.operator.get("/readyz?output=json")[1], "no right is missing"
