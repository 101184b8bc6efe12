"""ConfigMaps and Secrets as sources: how objects form a package, and an API server that refuses or is away.

Level: sandbox."""

from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from hookrunner.errors import PackageError
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch import Watches
from hookrunner.metrics.names import Metrics
from hookrunner.model.events import ObjectSeen, Synced
from hookrunner.packages.cluster_source import PACKAGE_LABEL, VERSION_LABEL, watched_selections
from hookrunner.packages.source_locations import ClusterLocation
from kubesandbox.faults import Fault
from kubetypes.json_values import JSON
from tests.packages.places import CHART, ClusterPlace, cluster_place, refusal_of, with_checksums

LOCATION = ClusterLocation("ConfigMap", "default")
LABELS = {PACKAGE_LABEL: "coredns", VERSION_LABEL: "1.0"}


@pytest.fixture
async def place() -> AsyncIterator[ClusterPlace]:
    async with cluster_place(LOCATION) as place:
        yield place


async def refusal(place: ClusterPlace, version: str = "1.0") -> PackageError:
    return await refusal_of(place.source.read_package("coredns", version))


async def test_several_objects_form_a_package(place: ClusterPlace) -> None:
    for number in range(40):
        place.put(f"part-{number}", {f"f{number:02}": b"\xff" * number}, LABELS)
    package = await place.source.read_package("coredns", "1.0")
    assert {path: len(data) for path, data in package.files.items()} == {f"f{n:02}": n for n in range(40)}
    assert len(place.api.asked("list")) == 3


async def test_an_object_of_more_files_than_allowed_is_refused(place: ClusterPlace) -> None:
    place.put("a", {f"f{number:04}": b"" for number in range(1001)}, LABELS)
    assert (await refusal(place)).reason == "TooLarge"


async def test_a_file_in_two_objects_is_refused(place: ClusterPlace) -> None:
    place.put("a", {"manifest.yaml": b"kind: A\n"}, LABELS)
    place.put("b", {"manifest.yaml": b"kind: B\n"}, LABELS)
    error = await refusal(place)
    assert (error.reason, "has the file 'manifest.yaml' twice" in str(error)) == ("Malformed", True)


@pytest.mark.parametrize("directory", ["../etc", "/etc", "a//b", "..data"])
async def test_a_directory_stays_in_the_package(place: ClusterPlace, directory: str) -> None:
    place.put("a", {"manifest.yaml": b""}, LABELS, {"hookrunner.io/package-directory": directory})
    assert (await refusal(place)).reason == "Malformed"


async def test_a_value_that_is_not_base64_is_refused(place: ClusterPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """No API server keeps such a value; what stands between may answer anything."""

    async def answer(*arguments: object, **more: object) -> JSON:
        return {"metadata": {}, "items": [{"metadata": {"name": "odd"}, "type": "Opaque", "data": {"a": "%"}}]}

    monkeypatch.setattr(place.client, "get", answer)
    error = await refusal(place)
    assert (error.reason, "object odd: a value is not base64" in str(error)) == ("Malformed", True)


async def test_a_plus_in_a_version_is_written_as_helm_does(place: ClusterPlace) -> None:
    place.put_package("coredns", "1.0+build", CHART)
    assert (await place.source.read_package("coredns", "1.0+build")).version == "1.0+build"
    assert await place.source.list_versions("coredns") == ["1.0_build"]


async def test_a_version_that_is_no_label_is_no_object(place: ClusterPlace) -> None:
    assert (await refusal(place, "1.0-")).reason == "NotFound"
    assert place.api.requests == []


async def test_channels_without_their_object_or_key_are_told_apart(place: ClusterPlace) -> None:
    for problem in ("configmap:default/addon-channels: the object does not exist", "the object has no such key"):
        with pytest.raises(PackageError, match=problem) as raised:
            await place.source.read_channel("stable")
        assert raised.value.reason == "NoChannel"
        place.put_channel("edge", b"manifests: []\n")


async def test_a_refusal_names_the_missing_rights(place: ClusterPlace) -> None:
    place.api.faults.add(Fault("answer", status=403))
    error = await refusal(place)
    assert (error.reason, error.brief) == ("Unreachable", True)
    assert str(error).endswith("; hookrunner needs the rights get, list and watch on configmaps there")


async def test_an_api_server_that_fails_is_unreachable(place: ClusterPlace) -> None:
    place.api.faults.add(Fault("answer", status=500))
    for answer in (
        place.source.read_channel("stable"),
        place.source.list_versions("coredns"),
        place.source.read_package("coredns", "1.0"),
    ):
        with pytest.raises(PackageError, match="default/addon-channels: HTTP 500") as raised:
            await answer
        assert raised.value.reason == "Unreachable"


async def test_changes_of_channels_and_packages_are_watched(place: ClusterPlace) -> None:
    place.put_channel("stable", b"manifests: []\n")
    place.put_package("coredns", "1.0", with_checksums(CHART))
    place.put("other", {"a": b"b"})
    names: set[str] = set()
    watches = Watches(place.client, Discovery(place.client), Metrics(""), idle=75.0)
    for selection in watched_selections(LOCATION):
        async with aclosing(watches.open(selection)) as batches:
            async for reports in batches:
                names |= {report.key.name for report in reports if isinstance(report, ObjectSeen)}
                if any(isinstance(report, Synced) for report in reports):
                    break
    assert {"addon-channels", "coredns-1.0-0"} <= names
    assert "other" not in names
