"""Conversion hooks behind the real API server, for every kind of request. Level: control plane."""

import json
from collections.abc import Iterator

import pytest

from tests.controlplane.cluster import Cluster
from tests.flows.conftest import Start
from tests.flows.conversions import LOWER, SPECS, UPPER, Kind
from tests.flows.operator import Operator
from tests.flows.scripts import configmaps, hook
from tests.flows.waiting import until
from tests.flows.webhooks import Site

MANY = 20


@pytest.fixture
def site(cluster: Cluster, namespace: str) -> Site:
    return Site(cluster, namespace)


def undefined(cluster: Cluster, namespace: str) -> Iterator[Kind]:
    """Not defined yet."""
    one = Kind(cluster, namespace)
    yield one
    one.remove()


kind, other, foreign = (pytest.fixture(undefined, name=name) for name in ("kind", "other", "foreign"))


def hooks(kind: Kind) -> dict[str, str]:
    """Two, each with one step of the way there and back."""
    return {"lower.sh": kind.converting(*LOWER), "upper.sh": kind.converting(*UPPER)}


async def converted(kind: Kind, name: str) -> None:
    """Wait until the API server has heard that there are conversions."""
    await until(lambda: kind.specs(name) == SPECS, f"{name} in all versions")


async def test_an_object_can_be_read_in_each_version_whichever_it_was_written_in(
    kind: Kind, site: Site, operator: Start
) -> None:
    kind.define()
    kind.create("v1", "from-v1")
    program = await operator(hooks(kind), *site.flags)
    await converted(kind, "from-v1")
    for version in ("v1beta1", "v1alpha1"):
        assert kind.create(version, f"from-{version}").status == 201
        assert kind.specs(f"from-{version}") == SPECS
    for version, spec in SPECS.items():
        listed = kind.cluster.request("GET", kind.path(version)).body["items"]
        assert [item["spec"] for item in listed] == [spec] * 3
    change(kind, site)
    await many(kind, program)


def change(kind: Kind, site: Site) -> None:
    """kubectl applies and patches in each version."""
    for version, patch, address in [
        ("v1alpha1", {"hostPort": "patched:1"}, {"host": "patched", "port": 1}),
        ("v1beta1", {"port": "2"}, {"host": "patched", "port": 2}),
        ("v1", {"address": {"host": "again"}}, {"host": "again", "port": 2}),
    ]:
        resource = f"teas.{version}.{kind.group}"
        code, shown = site.kubectl("patch", resource, "from-v1", "--type=merge", "-p", json.dumps({"spec": patch}))
        assert (code, kind.get("v1", "from-v1")["spec"]) == (0, {"address": address}), shown
    for port in (7, 8):
        applied = kind.tea("v1beta1", "applied") | {"spec": {"host": "h", "port": str(port)}}
        code, shown = site.kubectl("apply", "-f", "-", text=json.dumps(applied))
        assert (code, kind.get("v1", "applied")["spec"]["address"]["port"]) == (0, port), shown


async def many(kind: Kind, program: Operator) -> None:
    """The API server has each object converted alone, when it is written, into each version that a client reads
    (v1 to v1beta1, and from that to v1alpha1). Lists of any length need nothing more."""
    expected = {"lower.sh": MANY, "upper.sh": 2 * MANY}

    def runs() -> dict[str, int]:
        return {hook: sum(converted.startswith("n") for converted in names(program, hook)) for hook in expected}

    await kind.create_many("v1", [f"n{number}" for number in range(MANY)])
    await until(lambda: runs() == expected, f"{expected} runs")
    for version, spec in SPECS.items():
        assert kind.listed(version) == [spec] * MANY
    assert runs() == expected


def names(program: Operator, hook: str) -> Iterator[str]:
    """The objects that came in each run, of which there is only one."""
    for context in program.contexts(hook):
        (obj,) = context["review"]["request"]["objects"]
        yield obj["metadata"]["name"]


NEXT = '.apiVersion |= sub("v1$"; "v1beta1")'
WRONG = {
    "crash": ("exit 1", "Hook failed: upper.sh: exit status 1, see the log of hookrunner"),
    "hang": ("sleep 60", "Hook failed: upper.sh: timed out after"),
    "nonsense": ("echo nonsense > $CONVERSION_RESPONSE_PATH", "Hook failed: upper.sh: got bad conversion response"),
    "nothing": ("", "the hook wrote nothing to CONVERSION_RESPONSE_PATH"),
    "said": ('echo \'{"failedMessage": "not on Mondays"}\' > $CONVERSION_RESPONSE_PATH', "v1→v1beta1: not on Mondays"),
    "renamed": (f"becomes '{NEXT} | .metadata.name = \"other\"'", "came back with metadata.name other: Tea"),
    "short": ("becomes empty", "did not come back (1 sent, 0 returned): Tea"),
    "wrong": ("becomes .", "came back in version"),
}
"""What a hook does with an object of this name, and the message that reports it."""

BECOMES = """\
becomes() {
  jq "{convertedObjects: [.[0].review.request.objects[] | $1]}" "$BINDING_CONTEXT_PATH" > "$CONVERSION_RESPONSE_PATH"
}
"""


def failing(kind: Kind) -> str:
    cases = "".join(f"{name}) {body}\nexit;;\n" for name, (body, _) in WRONG.items())
    name = "$(jq -r '.[0].review.request.objects[0].metadata.name' \"$BINDING_CONTEXT_PATH\")"
    return kind.converting(*UPPER, before=f"{BECOMES}case {name} in\n{cases}esac\n", settings={"timeout": "500ms"})


async def test_a_failed_conversion_is_reported_and_the_stored_version_can_be_read(
    kind: Kind, site: Site, operator: Start
) -> None:
    kind.define()
    for name in ("fine", *WRONG):
        kind.create("v1", name)
    await operator({"upper.sh": failing(kind)}, *site.flags)
    await until(lambda: kind.get("v1beta1", "fine").get("spec") == SPECS["v1beta1"], "conversions")
    resource = f"teas.v1beta1.{kind.group}"
    for name, (_, message) in WRONG.items():
        # On a busy machine, half a second may go by before a hook has done anything wrong.
        await until(lambda: message in kind.get("v1beta1", name)["message"], f"{name}: {message}")  # noqa: B023
        assert kind.get("v1", name)["spec"] == SPECS["v1"]
    code, shown = site.kubectl("get", resource, "hang")
    assert (code, WRONG["hang"][1] in shown) == (1, True), shown
    code, shown = site.kubectl("get", f"teas.v1alpha1.{kind.group}", "fine")
    assert (code, "no hook converts teas" in shown) == (1, True), shown
    await until(lambda: kind.get("v1beta1", "fine").get("spec") == SPECS["v1beta1"], "the conversion of fine")


async def test_conversions_are_registered_for_later_definitions_and_repaired(
    kind: Kind, site: Site, operator: Start
) -> None:
    program = await operator(hooks(kind), *site.flags)
    kind.define()
    await until(lambda: kind.create("v1", "a").status in (201, 409), "a, while the definition changes")
    await converted(kind, "a")
    conversion = kind.conversion()
    assert conversion["strategy"] == "Webhook"
    definition = json.dumps(kind.written())
    for command in ("apply", "replace"):
        assert site.kubectl(command, "-f", "-", text=definition)[0] == 0
        await until(lambda: kind.conversion() == conversion, f"the repair after kubectl {command}")
    await converted(kind, "a")
    kind.store("v1beta1")
    await until(lambda: kind.create("v1alpha1", "b").status in (201, 409), "b, while the definition changes")
    await converted(kind, "a")
    await converted(kind, "b")
    await program.stop()
    again = await operator({"idle.sh": hook({"onStartup": 1})}, *site.flags)
    await until(lambda: kind.conversion() == {"strategy": "None"}, "the end of conversions")
    await again.stop()


async def test_conversions_keep_metadata_read_snapshots_and_leave_foreign_webhooks(
    kind: Kind, other: Kind, foreign: Kind, site: Site, operator: Start
) -> None:
    """One operator for what has nothing to do with each other."""
    foreign.define(converted_at="https://127.0.0.1:9/convert")
    before = foreign.conversion()
    await operator({"strip.sh": stripping(kind, site), "reading.sh": reading(other, site)}, *site.flags)
    await until(lambda: kind.get("v1beta1", "a").get("spec") == SPECS["v1beta1"], "conversions")
    metadata = kind.get("v1", "a")["metadata"]
    assert metadata.keys() >= {"finalizers", "ownerReferences", "managedFields", "labels"}
    assert kind.get("v1beta1", "a")["metadata"] == metadata | {"labels": {"by": "hook"}, "annotations": {"by": "hook"}}
    kind.cluster.request("PATCH", kind.path("v1", "a"), {"metadata": {"finalizers": []}})
    await until(lambda: other.get("v1beta1", "a").get("spec") == {"host": "db", "port": "77"}, "conversions")
    assert foreign.conversion() == before


def stripping(kind: Kind, site: Site) -> str:
    """A hook that drops all metadata that it can, and gives labels and annotations of its own. There is an object."""
    kind.define()
    owner = site.cluster.create(f"/api/v1/namespaces/{site.namespace}/configmaps", {"metadata": {"name": "o"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": owner["metadata"]["uid"]}
    kind.create("v1", "a", finalizers=["example.com/wait"], ownerReferences=[reference], labels={"a": "b"})
    strip = """.metadata |= {name, namespace, uid, labels: {by: "hook"}, annotations: {by: "hook"}}"""
    return kind.converting(*UPPER, then=strip)


def reading(kind: Kind, site: Site) -> str:
    """A hook whose answer stands in a snapshot. There is an object."""
    kind.define()
    kind.create("v1", "a")
    site.kubectl("create", "configmap", "ports", "--from-literal=port=77")
    watched = {**configmaps(site.namespace), "name": "ports", "nameSelector": {"matchNames": ["ports"]}}
    port = ".spec.port = $c.snapshots.ports[0].object.data.port"
    return kind.converting(*UPPER, then=port, binding={"includeSnapshotsFrom": ["ports"]}, kubernetes=[watched])


async def test_a_watched_kind_may_be_converted_by_the_same_process(kind: Kind, site: Site, operator: Start) -> None:
    kind.define(converted_at=f"https://127.0.0.1:{site.port}/{kind.crd}")
    kind.create("v1", "a")
    watched = hook({"kubernetes": [{"name": "teas", "apiVersion": f"{kind.group}/v1alpha1", "kind": "Tea"}]})
    program = await operator({**hooks(kind), "watch.sh": watched}, *site.flags)
    kind.create("v1beta1", "b")
    await until(lambda: ("Added", "b") in program.events("watch.sh"), "the event")
    synchronization, event = program.contexts("watch.sh")
    assert [found["object"]["spec"] for found in synchronization["objects"]] == [SPECS["v1alpha1"]]
    assert event["object"]["spec"] == SPECS["v1alpha1"]


async def test_a_conversion_that_needs_its_own_objects_as_snapshot_is_refused_with_a_reason(
    kind: Kind, site: Site, operator: Start
) -> None:
    kind.define(converted_at=f"https://127.0.0.1:{site.port}/{kind.crd}")
    kind.create("v1", "a")
    watched = {"name": "teas", "apiVersion": f"{kind.group}/v1beta1", "kind": "Tea"}
    script = kind.converting(*UPPER, binding={"includeSnapshotsFrom": ["teas"]}, kubernetes=[watched])
    program = await operator({"upper.sh": script}, *site.flags, ready=False)
    assert "have that binding watch the stored version" in (await program.wait_log("its own objects"))["error"]
    # On a busy machine the API server may give up before the hook is ended.
    await until(lambda: "its own objects" in kind.get("v1beta1", "a")["message"], "the reason")
    assert kind.get("v1", "a")["spec"] == SPECS["v1"]
