"""Fields that the API server does not know: ignored when a template sets them, refused when a patch does.

Level: sandbox."""

import copy
from typing import Any

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.model.releases import ReleaseOptions
from hookrunner.releases.crds import Crds
from hookrunner.releases.manifest_applier import ManifestApplier
from hookrunner.releases.manifest_objects import KindResolver
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.releases.test_crds import thing_definition
from tests.releases.test_manifest_applier import OPTIONS, RELEASE, by_id, deployment, writes

KEY = ("apps", "Deployment", "default", "d")
REPLICAS = ".spec.repicas (did you mean 'replicas'?)"


def misspelt() -> Any:
    obj = deployment()
    obj["spec"]["repicas"] = 2
    return obj


def in_container() -> Any:
    obj = deployment()
    obj["spec"]["template"]["spec"]["containers"][0]["resource"] = {}
    return obj


def patched(template: Any) -> ReleaseOptions:
    return ReleaseOptions(unpatched={KEY: template})


@pytest.mark.parametrize("is_installed", [False, True])
async def test_misspelt_field_of_a_template_is_ignored_and_reported(
    applier: ManifestApplier, is_installed: bool
) -> None:
    before = [deployment()] if is_installed else []
    await applier.apply(before, RELEASE, {}, OPTIONS)
    await applier.apply([misspelt()], RELEASE, by_id(*before), OPTIONS)
    assert applier.notes.pop(RELEASE).faults == {"default/Deployment/d": REPLICAS}
    await applier.apply([deployment("b", **{"hookrunner.io/recreate": "true"})], RELEASE, by_id(misspelt()), OPTIONS)
    assert applier.notes.pop(RELEASE).faults == {"default/Deployment/d": ""}


@pytest.mark.parametrize("is_installed", [False, True])
@pytest.mark.parametrize(
    ("obj", "text"), [(misspelt(), REPLICAS), (in_container(), "resource (did you mean 'resources'?)")]
)
async def test_misspelt_field_of_a_patch_is_refused_before_anything_is_written(
    applier: ManifestApplier, sandbox: Sandbox, is_installed: bool, obj: Any, text: str
) -> None:
    before = [deployment()] if is_installed else []
    await applier.apply(before, RELEASE, {}, OPTIONS)
    sandbox.faults.requests.clear()
    with pytest.raises(ReleaseFailed, match="a patch sets what a Deployment does not have") as caught:
        await applier.apply([obj], RELEASE, by_id(*before), patched(deployment()))
    assert text in str(caught.value)
    assert caught.value.invalid == ("default/Deployment/d",)
    assert all("fieldValidation=Strict" in line or line.startswith("PATCH") for line in writes(sandbox))


async def test_field_that_the_template_has_already_is_not_the_fault_of_its_patch(applier: ManifestApplier) -> None:
    obj = in_container()
    obj["spec"]["template"]["spec"]["containers"].insert(0, {"name": "first", "image": "i"})
    await applier.try_out([obj], RELEASE, {}, patched(in_container()))
    await applier.apply([obj], RELEASE, {}, patched(in_container()))
    assert "resource" in applier.notes.pop(RELEASE).faults["default/Deployment/d"]


SPEC = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
CLOSED: Any = {"x-kubernetes-preserve-unknown-fields": None, "properties": {"spec": SPEC}}
THINGS = thing_definition("v1", **CLOSED)
DOCUMENT = "GET /openapi/v3/apis/x.io/v1"


def thing(**spec: int) -> Any:
    return {"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec}


async def refusal_of_a_thing(applier: ManifestApplier, *before: Any) -> str:
    """The message for a patch of a custom kind that sets `repicas`."""
    options = ReleaseOptions(unpatched={("x.io", "Thing", "default", "t"): thing()})
    with pytest.raises(ReleaseFailed, match=r"a patch sets what a Thing does not have: \.spec\.repicas") as caught:
        await applier.apply([thing(repicas=2)], RELEASE, by_id(*before), options)
    return str(caught.value)


async def test_misspelt_field_of_a_custom_kind_is_named_with_the_nearest_by_the_servers_schema(
    applier: ManifestApplier, client: Client, sandbox: Sandbox
) -> None:
    await Crds(client, KindResolver(Discovery(client))).ensure([THINGS], {})
    await applier.apply([thing()], RELEASE, {}, OPTIONS)
    await applier.apply([thing(replicas=1)], RELEASE, by_id(thing()), OPTIONS)
    assert DOCUMENT not in sandbox.faults.requests
    assert ".spec.repicas (did you mean 'replicas'?)" in await refusal_of_a_thing(applier, thing(replicas=1))
    assert [*sandbox.faults.requests].count(DOCUMENT) == 1


async def test_refusal_stays_what_it_is_when_the_schema_cannot_be_read(
    applier: ManifestApplier, client: Client, sandbox: Sandbox
) -> None:
    await Crds(client, KindResolver(Discovery(client))).ensure([THINGS], {})
    sandbox.faults.add(Fault("answer", DOCUMENT, status=403))
    assert "did you mean" not in await refusal_of_a_thing(applier)


async def test_dry_run_refuses_a_misspelt_field_of_a_patch(applier: ManifestApplier) -> None:
    with pytest.raises(ReleaseFailed, match="a patch sets"):
        await applier.try_out([misspelt()], RELEASE, {}, patched(deployment()))


async def test_refused_object_without_a_namespace_is_named_without_one(applier: ManifestApplier) -> None:
    role: Any = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}}
    wrong = copy.deepcopy(role) | {"rules": "all"}
    good = copy.deepcopy(role) | {"metadata": {"name": "good"}, "rules": []}
    with pytest.raises(ReleaseFailed, match="\nClusterRole/r: ") as caught:
        await applier.apply([wrong, good], RELEASE, {}, OPTIONS)
    assert "beside it: ClusterRole/good" in str(caught.value)
    assert caught.value.invalid == ("ClusterRole/r",)


@pytest.mark.parametrize(("method", "before"), [("POST", []), ("PATCH", [deployment()])])
async def test_refusal_for_another_reason_is_not_asked_for_again(
    method: str, before: list[Any], applier: ManifestApplier, sandbox: Sandbox
) -> None:
    await applier.apply(before, RELEASE, {}, OPTIONS)
    for digest in ("1", "2") if before else ():
        await applier.apply([deployment(x=digest)], RELEASE, by_id(*before), OPTIONS)
    sandbox.faults.add(Fault("answer", f"{method} /apis/apps/v1/namespaces/default/deployments", status=403))
    sandbox.faults.requests.clear()
    with pytest.raises(ReleaseFailed, match="a fault that the sandbox was given"):
        await applier.apply([misspelt()], RELEASE, by_id(*before), OPTIONS)
    assert len(writes(sandbox)) == 1
