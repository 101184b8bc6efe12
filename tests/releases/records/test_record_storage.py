"""Records in the cluster. Level: control plane."""

import asyncio
import base64
import random
from dataclasses import replace
from typing import Any

import orjson
import pytest

from hookrunner.errors import Denied, NotFound, ReleaseFailed
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model.json_objects import JsonObjects
from hookrunner.model.releases import DesiredRelease, RenderedChart
from hookrunner.releases.records.record import ReleaseRecord, ReleaseRevision, RevisionStatus, new_record
from hookrunner.releases.records.record_storage import Driver, RecordStorage
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox

SECRETS = "/api/v1/namespaces/default/secrets"


def record(number: int = 1, name: str = "a", chart: Any = None) -> ReleaseRecord:
    rendered = RenderedChart("---\nkind: A\n", (), (), "", chart or {"metadata": {"name": name}})
    return new_record(DesiredRelease(name, "default", rendered, {}, "d"), number, RevisionStatus.DEPLOYED)


@pytest.mark.parametrize("driver", ["secret", "configmap"])
async def test_written_record_is_read_back_unchanged(client: Client, driver: Driver) -> None:
    records = RecordStorage(client, driver)
    revision = await records.write(ReleaseRecord(record().document, {"mine": "yes"}))
    assert (await records.list_revisions("default"))[0] == [revision]
    found = await records.read(revision)
    assert found.document == record().document | {"info": found.document["info"]}
    assert found.labels["mine"] == "yes"


async def test_all_releases_are_listed_by_one_request_for_metadata(client: Client, sandbox: Sandbox) -> None:
    records = RecordStorage(client, "secret")
    for name, number in (("a", 1), ("a", 2), ("b", 1)):
        await records.write(record(number, name))
    sandbox.faults.requests.clear()
    found, _ = await records.list_revisions("default")
    assert {(one.name, one.number) for one in found} == {("a", 1), ("a", 2), ("b", 1)}
    assert list(sandbox.faults.requests) == [f"GET {SECRETS}?labelSelector=owner%3Dhelm"]


async def test_record_is_read_once_and_again_after_another_client_changed_it(client: Client, sandbox: Sandbox) -> None:
    theirs, ours = RecordStorage(client, "secret"), RecordStorage(client, "secret")
    known = await theirs.write(record())
    assert [(await ours.read(known)).status for _ in range(2)] == ["deployed"] * 2
    changed = await theirs.write(record().with_status(RevisionStatus.FAILED, ""), known)
    sandbox.faults.requests.clear()
    assert [(await ours.read(changed)).status for _ in range(2)] == ["failed"] * 2
    assert list(sandbox.faults.requests) == [f"GET {SECRETS}/sh.helm.release.v1.a.v1"]


async def test_several_readers_of_a_record_cause_one_request(client: Client, sandbox: Sandbox) -> None:
    theirs, ours = RecordStorage(client, "secret"), RecordStorage(client, "secret")
    known = [await theirs.write(record(name=name)) for name in ("a", "b")]
    sandbox.faults.requests.clear()
    found = await asyncio.gather(*(ours.read(revision) for revision in known for _ in range(3)))
    assert [one.name for one in found] == ["a"] * 3 + ["b"] * 3
    assert sorted(sandbox.faults.requests) == [f"GET {SECRETS}/sh.helm.release.v1.{name}.v1" for name in "ab"]


@pytest.mark.parametrize("many", [1, 1000])
async def test_manifest_of_a_record_is_parsed_once(client: Client, many: int) -> None:
    revision = await RecordStorage(client, "secret").write(
        replace(record(), document=record().document | {"manifest": "---\nkind: A\n" * many})
    )
    ours = RecordStorage(client, "secret")
    found = [await ours.read(revision) for _ in range(2)]
    assert [one.known.values() for one in found] == [[{"kind": "A"}] * many] * 2


async def test_record_with_a_manifest_that_cannot_be_parsed_is_read(client: Client) -> None:
    revision = await RecordStorage(client, "secret").write(
        replace(record(), document=record().document | {"manifest": "{"})
    )
    found = await RecordStorage(client, "secret").read(revision)
    assert (found.status, found.known) == ("deployed", JsonObjects())
    with pytest.raises(ReleaseFailed, match="document 1: not YAML"):
        _ = found.objects


async def test_records_in_other_namespaces_are_found_by_their_home(client: Client, sandbox: Sandbox) -> None:
    """Each of two operators in a cluster sees its own records; a missing right to list all is an error."""
    for home, name in (("ours", "a"), ("theirs", "b"), ("default", "c")):
        await RecordStorage(client, "secret", home).write(record(name=name))
    ours = RecordStorage(client, "secret", "ours")
    assert [one.name for one in await ours.list_strays()] == ["a"]
    sandbox.faults.add(Fault("answer", "GET /api/v1/secrets", status=403))
    with pytest.raises(Denied):
        await ours.list_strays()


async def test_record_of_another_client_is_not_overwritten(client: Client) -> None:
    records = RecordStorage(client, "secret")
    known = await records.write(record())
    await records.write(record(), known)
    with pytest.raises(ReleaseFailed, match="another client has written revision 1 of it"):
        await records.write(record())
    with pytest.raises(ReleaseFailed, match="another client has written revision 1 of it"):
        await records.write(record(), known)


async def test_an_update_changes_status_and_labels(client: Client) -> None:
    records = RecordStorage(client, "secret")
    known = await records.write(ReleaseRecord(record().document, {"old": "label"}))
    updated = await records.write(
        ReleaseRecord(record().with_status(RevisionStatus.SUPERSEDED, "").document, {"new": "label"}), known
    )
    assert (updated.status, updated.labels) == ("superseded", {"new": "label"})
    assert (await records.read(updated)).status == "superseded"


async def test_deleting_an_absent_record_succeeds(client: Client) -> None:
    records = RecordStorage(client, "secret")
    revision = await records.write(record())
    await records.delete(revision)
    await records.delete(revision)
    assert (await records.list_revisions("default"))[0] == []
    with pytest.raises(NotFound):
        await records.read(revision)


async def put(client: Client, name: str, labels: dict[str, str], data: dict[str, str]) -> None:
    body = {"metadata": {"name": name, "labels": {"owner": "helm"} | labels}, "data": data}
    await client.send(ApiCall("POST", SECRETS, body=body))


@pytest.mark.parametrize("data", [{}, {"release": ""}, {"release": base64.b64encode(b"bm9uc2Vuc2U=").decode()}])
async def test_a_record_that_cannot_be_read_is_named(client: Client, data: dict[str, str]) -> None:
    await put(client, "sh.helm.release.v1.a.v1", {"name": "a", "version": "1"}, data)
    with pytest.raises(ReleaseFailed, match=r"^Secret default/sh.helm.release.v1.a.v1: "):
        await RecordStorage(client, "secret").read(ReleaseRevision("a", "default", 1, ""))


async def test_invalid_record_does_not_hide_the_others(client: Client, capfd: pytest.CaptureFixture[str]) -> None:
    await put(client, "odd", {"version": "one"}, {})
    revision = await RecordStorage(client, "secret").write(record())
    assert (await RecordStorage(client, "secret").list_revisions("default"))[0] == [revision]
    assert "record=default/odd" in capfd.readouterr().err


def noise(size: int) -> str:
    return base64.b64encode(random.Random(1).randbytes(size)).decode()


async def test_large_record_leaves_out_files(client: Client, capfd: pytest.CaptureFixture[str]) -> None:
    chart = {"metadata": {"name": "a"}, "templates": [{"name": "t"}], "files": [{"name": "f", "data": noise(1 << 20)}]}
    revision = await RecordStorage(client, "secret").write(record(chart=chart))
    assert (await RecordStorage(client, "secret").read(revision)).document["chart"] == chart | {"files": []}
    assert "release record is too large" in capfd.readouterr().err


@pytest.mark.slow
async def test_a_record_that_is_too_large_even_so_is_refused(client: Client, sandbox: Sandbox) -> None:
    chart = {"metadata": {"name": "a"}, "templates": [{"name": "t", "data": noise(1 << 20)}]}
    with pytest.raises(ReleaseFailed, match=r"revision 1 of release a takes [\d,]+ bytes"):
        await RecordStorage(client, "secret").write(record(chart=chart))
    assert not [line for line in sandbox.faults.requests if line.startswith("POST")]


async def test_record_of_the_largest_size_is_accepted(real: Client, namespace: str) -> None:
    document = record(chart={"metadata": {"name": "a"}, "templates": [{"data": noise(777_000)}]}).document
    await RecordStorage(real, "secret").write(ReleaseRecord(document | {"namespace": namespace}))
    (kept,) = orjson.loads(await real.send(ApiCall("GET", f"/api/v1/namespaces/{namespace}/secrets")))["items"]
    assert kept["type"] == "helm.sh/release.v1"
    assert len(base64.b64decode(kept["data"]["release"])) > 1_000_000
