"""The objects of revisions, from their manifests. Level: pure."""

from hookrunner.releases.records.record import ReleaseRecord
from hookrunner.releases.rollout import by_id
from tests.tables import each


def revision(number: int, value: str) -> ReleaseRecord:
    manifest = f"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  key: {value}\n"
    return ReleaseRecord({"name": "r", "namespace": "default", "version": number, "manifest": manifest})


@each("length", [1, 100_000])
async def test_objects_come_from_the_last_revision_that_has_them(length: int) -> None:
    found = await by_id([revision(1, "x" * length), revision(2, "z" * length)])
    [(one, obj)] = found.items()
    assert (str(one), obj["data"]) == ("default/ConfigMap/a", {"key": "z" * length})
