"""Objects of an instance with `spec.protect` on a real control plane: whom the API server lets through, with hookrunner
and without it, and how the policy comes, is repaired and goes. Level: control plane."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kubetypes.json_values import JSON
from tests.controlplane.cluster import OwnCluster, RequestFailed
from tests.controlplane.rest import request
from tests.controlplane.rights import log_in
from tests.fakes.chart import render_rights
from tests.fakes.objects import definition
from tests.flows.addons.cluster_world import GROUP, ClusterWorld

DNS, UNIT = f"{GROUP}/coredns/default", "coredns.kube-system.default"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
POLICY, BINDING = (f"{POLICIES.removesuffix('ies')}{end}/hookrunner-protect.default" for end in ("ies", "ybindings"))
IN_SYSTEM = ("-n", "kube-system")
CORE = "/api/v1/namespaces/kube-system"
DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
DRY_RUN = f"{DEPLOYMENT}?dryRun=All"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:coredns"
ALL = "system:masters"
"""The group of those to whom RBAC allows everything, such as an administrator who makes a mistake."""
JANE = ("jane",)
LABELLED: JSON = {"metadata": {"labels": {"app.example.com/by": "someone"}}}
PARTS: dict[str, dict[str, JSON]] = {
    "/api/v1/namespaces": {"metadata": {"name": "part"}},
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": definition("example.com", "Part", "v1"),
}
REFUSED = "belongs to CoreDNS kube-system/default, which protects its objects: change the spec of that one instead"


@pytest.fixture
async def limited(there: ClusterWorld, whole_cluster: OwnCluster, tmp_path: Path) -> ClusterWorld:
    """Hookrunner with exactly the rights that the chart gives it for CoreDNS."""
    objects = render_rights("protection", "--set", "addons.enabled=true,addons.names={coredns}")
    account = log_in(whole_cluster, tmp_path, objects)
    there.world.operator.kubeconfig = there.proxy.kubeconfig_with(account.token)
    there.world.operator.flags += ("--addons=coredns", "--addon-protect-except=robot,sre")
    return there


async def refusal(there: ClusterWorld, user: Sequence[str], patch: JSON, path: str = DRY_RUN) -> str:
    """Why the API server refuses a patch by a user of these groups, or without a patch a deletion; empty if it does
    not."""
    access = replace(there.cluster.access, acting_as=(*user, ALL))
    reply = await asyncio.to_thread(request, access, "PATCH" if patch else "DELETE", path, patch)
    return "" if reply.status < 400 else str(reply.body["message"])


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
    return REFUSED in await refusal(there, JANE, LABELLED)


async def protected(there: ClusterWorld) -> tuple[str, str]:
    """Status and reason of the condition, empty without it."""
    conditions = (await there.status(DNS)).get("conditions") or ()
    found = [(entry["status"], entry["reason"]) for entry in conditions if entry["type"] == "Protected"]
    return found[0] if found else ("", "")


async def users_are_refused(there: ClusterWorld) -> None:
    """Also administrators, and accounts of other namespaces; of kinds without a namespace, too."""
    ci = ("system:serviceaccount:ci:bot", "system:serviceaccounts", "system:serviceaccounts:ci")
    for user in (JANE, ("kubernetes-admin",), ci):
        assert REFUSED in await refusal(there, user, LABELLED)
    unmarked = {"metadata": {"labels": {"hookrunner.io/addon": None}}}
    assert REFUSED in await refusal(there, JANE, unmarked)
    collection = f"{CORE}/configmaps?labelSelector=hookrunner.io/addon%3D{UNIT}"
    for path in (DRY_RUN, f"{CORE}/configmaps/coredns", f"{CORE}/serviceaccounts/coredns", ROLE, collection):
        assert REFUSED in await refusal(there, JANE, None, path)
    restart = ("rollout", "restart", "deployment/coredns", "-n", "kube-system", "--as=jane", f"--as-group={ALL}")
    with pytest.raises(RequestFailed, match=REFUSED):
        await there.kubectl(*restart)
    for path, body in PARTS.items():
        await part_is_protected(there, path, body)


async def part_is_protected(there: ClusterWorld, path: str, body: dict[str, JSON]) -> None:
    """An object with the instance's label, as its packages may have them."""
    name = body["metadata"]["name"]
    marked = body | {"metadata": {"name": name, "labels": {"hookrunner.io/addon": UNIT}}}
    await asyncio.to_thread(there.cluster.create, path, marked)
    assert REFUSED in await refusal(there, JANE, None, f"{path}/{name}")
    assert await refusal(there, ("robot",), None, f"{path}/{name}") == ""


async def others_are_not(there: ClusterWorld) -> None:
    accounts = ("system:serviceaccounts", "system:serviceaccounts:kube-system")
    for allowed in (
        ("robot",),
        ("jane", "sre"),
        ("system:kube-controller-manager",),
        ("system:node:a", "system:nodes"),
        ("system:serviceaccount:kube-system:generic-garbage-collector", *accounts),
        ("system:serviceaccount:kube-system:namespace-controller", *accounts),
    ):
        assert await refusal(there, allowed, LABELLED) == ""
    pods = f"{CORE}/pods"
    name = (await there.read(f"{pods}?labelSelector=k8s-app%3Dkube-dns"))["items"][0]["metadata"]["name"]
    assert await refusal(there, JANE, None, f"{pods}/{name}") == ""
    for replicas in (3, 2):
        assert await refusal(there, JANE, {"spec": {"replicas": replicas}}, f"{DEPLOYMENT}/scale") == ""
    assert await refusal(there, JANE, {"status": {"conditions": []}}, f"{DEPLOYMENT}/status") == ""
    await there.world.ask("POST", f"{CORE}/configmaps", {"metadata": {"name": "mine"}})
    assert await refusal(there, JANE, None, f"{CORE}/configmaps/mine") == ""


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
    edit: JSON = {"metadata": {"labels": {"k8s-app": "other"}}}
    assert await refusal(there, ("robot",), edit, f"{CORE}/services/kube-dns") == ""

    async def label() -> str:
        return str((await there.read(f"{CORE}/services/kube-dns"))["metadata"]["labels"]["k8s-app"])

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
    await there.until(lambda: is_kept(there), [True, True], "policy and binding; the former ones may still count")
    await there.until(lambda: is_refused(there), True, "the API server asks the policy")
    await there.world.stop()
    without = '[{"op": "remove", "path": "/metadata/finalizers"}]'
    await there.kubectl("patch", "coredns/default", *IN_SYSTEM, "--type=json", "-p", without)
    await there.kubectl("delete", "coredns/default", *IN_SYSTEM, "--timeout=180s", "--ignore-not-found")

    async def owned() -> list[str]:
        kinds = ("deployments", "configmaps", "services/")
        return [name for name in await there.marked(UNIT) if name.startswith(kinds)]

    await there.until(owned, [], "what the garbage collector deletes")
    assert await is_kept(there) == [True, True]
    await there.world.start()
    await there.until(lambda: is_kept(there), [False, False], "no policy")
    await there.until(lambda: there.marked(UNIT), [], "what the garbage collector leaves")
    assert '"rights"' not in there.world.operator.get("/readyz?output=json")[1], "no right is missing"
