"""The document of a revision: what Helm wrote is read, and what is written Helm can read (see test_records_helm.py).

Level: pure."""

import base64
import gzip
import re
from typing import Any

import orjson
import pytest

from hookrunner.errors import ReleaseFailed
from hookrunner.model.releases import DesiredRelease, HelmHook, RenderedChart
from hookrunner.releases.records.record import ReleaseRecord, RevisionStatus, new_record, now
from hookrunner.releases.records.record_encoding import packed, unpacked
from tests.tables import each

MANIFEST = (
    "---\n# Source: demo/templates/cm.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  on: y\n"
)
LIST = """---
kind: List
items:
- {kind: ConfigMap, metadata: {name: a}}
- {kind: Secret, metadata: {name: b}}
---
# empty
"""
HELMS: dict[str, Any] = {
    "name": "one",
    "info": {
        "first_deployed": "2026-11-21T21:09:04.101461796Z",
        "status": "deployed",
        "notes": "",
        "description": "Install complete",
    },
    "chart": {"metadata": {"name": "demo"}, "lock": None},
    "config": {"b": 2},
    "manifest": MANIFEST,
    "hooks": [
        {
            "name": "h",
            "kind": "Job",
            "path": "p",
            "manifest": "kind: Job",
            "events": ["post-delete"],
            "last_run": {"phase": ""},
        }
    ],
    "version": 3,
    "namespace": "here",
    "apply_method": "ssa",
    "of a later helm": 1,
}


def helms_text(document: Any) -> str:
    return base64.b64encode(gzip.compress(orjson.dumps(document))).decode()


def wanted(**rendered: Any) -> DesiredRelease:
    parts = {"manifest": MANIFEST, "objects": (), "hooks": (), "notes": "Hi", "chart": {"metadata": {"name": "demo"}}}
    return DesiredRelease("one", "here", RenderedChart(**parts | rendered), {"global": {}}, "d1")


def test_helm_record_is_read() -> None:
    record = ReleaseRecord(unpacked(helms_text(HELMS)))
    assert (record.name, record.namespace, record.revision, record.status) == (
        "one",
        "here",
        3,
        RevisionStatus.DEPLOYED,
    )
    assert record.objects[0]["data"] == {"on": True}


def test_objects_that_were_parsed_before_are_a_fraction_of_the_work() -> None:
    objects = ({"kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"on": "y" * 10_000}},)
    known = new_record(wanted(objects=objects), 1, RevisionStatus.DEPLOYED)
    assert known.work < len(orjson.dumps(objects)) / 10
    assert ReleaseRecord(known.document).work == len(MANIFEST)


def test_unknown_fields_are_kept() -> None:
    record = ReleaseRecord(unpacked(helms_text(HELMS))).with_status(RevisionStatus.SUPERSEDED, "Upgraded")
    again = unpacked(packed(record.document))
    assert again["of a later helm"] == 1
    assert again["info"] == HELMS["info"] | {"status": "superseded", "description": "Upgraded"}


def test_unpacked_record_of_the_first_helm_3_is_read() -> None:
    assert unpacked(base64.b64encode(orjson.dumps(HELMS))) == HELMS


@each(
    "text",
    ["", "no base64!", base64.b64encode(b"no JSON").decode(), helms_text(HELMS)[:80], helms_text([]), helms_text({}),
     helms_text(HELMS | {"version": "x"}), helms_text(HELMS | {"info": None})],
    ids=["empty", "not base64", "not JSON", "half", "list", "nothing", "no revision", "no info"],
)  # fmt: skip
def test_text_that_is_not_a_record_is_refused(text: str) -> None:
    with pytest.raises(ReleaseFailed, match="not a valid Helm release record"):
        unpacked(text)


def test_a_new_revision_has_what_helm_shows() -> None:
    document = new_record(wanted(), 4, RevisionStatus.PENDING_UPGRADE, "2026-01-01T00:00:00Z").document
    assert document["info"]["status"] == "pending-upgrade"
    assert document["info"]["first_deployed"] == "2026-01-01T00:00:00Z"
    assert (document["version"], document["config"], document["info"]["notes"]) == (4, {"global": {}}, "Hi")


def test_hooks_come_back_as_they_were_written() -> None:
    hook = HelmHook("h", "Job", "p", "kind: Job\n", {"kind": "Job"}, ("pre-install",), -5, ("hook-succeeded",))
    assert new_record(wanted(hooks=(hook,)), 1, RevisionStatus.PENDING_INSTALL).hooks == (hook,)


def test_hook_without_optional_fields_has_defaults() -> None:
    (hook,) = ReleaseRecord(HELMS).hooks
    assert (hook.weight, hook.delete_policies, hook.obj) == (0, ("before-hook-creation",), {"kind": "Job"})


def test_lists_are_taken_apart() -> None:
    assert [obj["kind"] for obj in ReleaseRecord(HELMS | {"manifest": LIST}).objects] == ["ConfigMap", "Secret"]


def test_a_manifest_that_is_no_yaml_is_named() -> None:
    with pytest.raises(ReleaseFailed, match=r"revision 3 of release one: document 1: not YAML: line 1"):
        ReleaseRecord(HELMS | {"manifest": "a: [}"}).objects  # noqa: B018


def test_times_are_written_as_go_does() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", now())
