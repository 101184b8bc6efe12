"""Records of releases that other processes read: with the same result as here. Level: pure."""

import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.releases.records import record_storage
from hookrunner.releases.records.record import ReleaseRecord
from hookrunner.releases.records.record_encoding import packed, unpacked
from hookrunner.releases.records.record_storage import read_document, read_objects
from kubetypes.bounds import RELEASE_RECORD
from tests.tables import each

MANIFEST = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def record(**more: object) -> ReleaseRecord:
    document = {"name": "a", "namespace": "b", "version": 1, "info": {"status": "deployed"}, "manifest": MANIFEST}
    return ReleaseRecord(document | more)


@pytest.mark.slow
async def test_a_large_record_is_read_as_a_small_one() -> None:
    text = packed(record(chart={"files": "x" * record_storage.PARSING.in_thread}).document)
    assert await read_document(text) == unpacked(text)


@pytest.mark.slow
@each("count", [1, 1_000, 6_000])
async def test_objects_of_a_manifest_are_the_same_wherever_it_is_read(count: int) -> None:
    objects = await read_objects(record(manifest=MANIFEST * count))
    assert objects.values() == [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}] * count


@pytest.mark.slow
async def test_a_large_manifest_that_cannot_be_read_is_refused_with_its_release() -> None:
    with pytest.raises(ReleaseFailed, match=r"^revision 1 of release a: document 1: not YAML"):
        await read_objects(record(manifest="{" + "a" * record_storage.READING.in_thread))


def test_a_record_with_too_many_values_is_not_written() -> None:
    with pytest.raises(ReleaseFailed, match=r"^revision 1 of release a has more than 200,000 values"):
        packed(record(config=[1] * RELEASE_RECORD.values).document)
