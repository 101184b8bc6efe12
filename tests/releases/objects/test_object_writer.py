"""Refusals of a write, and other clients that are always quicker. The rest: `test_manifest_applier.py`.

Level: sandbox."""

from typing import Any

import pytest

from hookrunner.errors import ApiError, Denied, ReleaseFailed
from hookrunner.releases.manifest_applier import ManifestApplier
from hookrunner.releases.objects import object_writer, tolerant_writes
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.fakes.second_writer import OvertakenClient
from tests.kube.server import ApiServer
from tests.releases.test_manifest_applier import MAPS, OPTIONS, RELEASE, by_id, config_map, data_of, writes

RECREATED = config_map("a", **{"hookrunner.io/recreate": "true"})
PLACED = {**config_map(), "metadata": {"name": "a", "namespace": "default"}}


async def test_an_object_that_comes_and_goes_all_the_time_is_given_up(
    applier: ManifestApplier, client: OvertakenClient, sandbox: Sandbox
) -> None:
    client.before_write = lambda call: ApiServer(sandbox, sandbox.url).put(PLACED)
    sandbox.faults.add(Fault("answer", f"GET {MAPS}/a", status=404))
    with pytest.raises(ReleaseFailed, match="another client keeps deleting and creating it"):
        await applier.apply([config_map()], RELEASE, {}, OPTIONS)


async def test_a_refused_creation_of_an_object_that_exists_is_no_update(
    applier: ManifestApplier, client: OvertakenClient, sandbox: Sandbox
) -> None:
    await applier.apply([config_map()], RELEASE, {}, OPTIONS)
    sandbox.faults.add(Fault("answer", f"POST {MAPS}", status=403))
    with pytest.raises(ReleaseFailed, match="a fault that the sandbox was given"):
        await applier.apply([config_map(data={"k": "new"})], RELEASE, {}, OPTIONS)
    assert await data_of(client) == {"k": "v"}


IMMUTABLE = 'ConfigMap "a" is invalid: data: Invalid value: {"k":"new"}: field is immutable'
BAD = 'ConfigMap "a" is invalid: data: Invalid value: {"k":"new"}: too long'


def refuse(monkeypatch: pytest.MonkeyPatch, error: ApiError) -> None:
    """Let each apply end with this error."""

    async def apply(*arguments: object) -> Any:
        raise error

    monkeypatch.setattr(tolerant_writes, "apply", apply)


@pytest.mark.parametrize(
    "error", [Denied(403, "Forbidden", IMMUTABLE, raw=IMMUTABLE), ApiError(422, "Invalid", BAD, raw=BAD)]
)
async def test_a_refusal_for_another_reason_recreates_nothing(
    error: ApiError, applier: ManifestApplier, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of an admission webhook, which may say anything about immutable fields."""
    await applier.apply([RECREATED], RELEASE, {}, OPTIONS)
    refuse(monkeypatch, error)
    sandbox.faults.requests.clear()
    with pytest.raises(ReleaseFailed, match="Invalid value"):
        await applier.apply([RECREATED | {"data": {"k": "new"}}], RELEASE, by_id(RECREATED), OPTIONS)
    assert [line for line in writes(sandbox) if line.startswith("DELETE")] == []


async def test_an_object_whose_deletion_does_not_end_is_not_created_again(
    applier: ManifestApplier, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = config_map("a", **{"hookrunner.io/recreate": "true"})
    kept["metadata"]["finalizers"] = ["example.com/stays"]
    await applier.apply([kept], RELEASE, {}, OPTIONS)
    refuse(monkeypatch, ApiError(422, "Invalid", IMMUTABLE, raw=IMMUTABLE))
    monkeypatch.setattr(object_writer, "_GONE_WITHIN", 0.1)
    with pytest.raises(ReleaseFailed, match=r"deleted to be recreated, but it still exists after 0\.1 s"):
        await applier.apply([kept | {"data": {"k": "new"}}], RELEASE, by_id(kept), OPTIONS)


async def test_without_the_right_to_read_an_object_is_not_removed(applier: ManifestApplier, sandbox: Sandbox) -> None:
    await applier.apply([config_map()], RELEASE, {}, OPTIONS)
    sandbox.faults.add(Fault("answer", f"GET {MAPS}/a", status=403))
    sandbox.faults.requests.clear()
    with pytest.raises(ReleaseFailed, match="a fault that the sandbox was given"):
        await applier.remove(by_id(config_map()), RELEASE)
    assert writes(sandbox) == []
