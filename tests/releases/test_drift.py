"""Drift on the sandbox, in virtual time: what is reported, how soon, and what is never reported. Level: sandbox."""

from collections.abc import AsyncIterator
from copy import deepcopy

import pytest

from hookrunner.errors import UnknownKind
from hookrunner.kube.client import ApiCall, Client
from hookrunner.model import units
from hookrunner.model.releases import ObjectMarks, OwnerReference, ReleaseOptions
from hookrunner.releases.objects.object_marks import ADOPTED, IGNORE, with_marks
from kubesandbox.faults import Fault
from kubesandbox.sandbox import Sandbox
from tests.fakes.objects import definition
from tests.releases.watching import LABELS, Watched, World, made, manifest, watching

pytestmark = pytest.mark.looptime

MAP = made("ConfigMap", "a", data={"color": "red", "size": "1"})
ROLE = made("ClusterRole", "demo", "rbac.authorization.k8s.io/v1", rules=[])
WIDGET = made("Widget", "w", "example.com/v1", spec={"size": 1})
DEPLOYMENT = manifest("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app.kubernetes.io/managed-by: Helm, app: web}, annotations: {}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, creationTimestamp: null}
    spec:
      containers:
      - name: web
        image: web:1
        env: [{name: EMPTY, value: ""}, {name: FULL, value: "1"}]
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: 1000m, memory: 1024Mi}}
""")


@pytest.fixture
async def watched(client: Client) -> AsyncIterator[Watched]:
    async with watching(World(client)) as watched:
        yield watched


@pytest.mark.parametrize("mode", ["missing", "warn", "repair"])
async def test_deleted_object_is_reported_at_once(watched: Watched, mode: units.Drift) -> None:
    await watched.begin(MAP, ROLE, mode=mode)
    assert await watched.after(5) == []
    await watched.world.delete(MAP)
    assert await watched.after(0.1) == ["default/ConfigMap/a"] == watched.found
    await watched.world.delete(ROLE)
    assert await watched.after(0.1) == ["/ClusterRole/demo"]


async def test_deletion_before_the_watch_is_reported_at_the_start(watched: Watched) -> None:
    await watched.world.apply(MAP)
    watched.follow(MAP, made("ConfigMap", "gone"), made("Secret", "gone"))
    assert sorted(await watched.after(1)) == ["default/ConfigMap/gone", "default/Secret/gone"]


async def test_release_that_is_being_written_reports_no_drift(watched: Watched) -> None:
    await watched.begin(MAP)
    await watched.after(1)
    watched.drift.pause(watched.world.identity)
    await watched.world.delete(MAP)
    assert await watched.after(10) == []
    watched.follow(MAP)
    assert await watched.after(1.1) == ["default/ConfigMap/a"]
    await watched.world.apply(MAP)
    assert (await watched.after(1), watched.found) == ([], [])


async def test_a_release_that_is_forgotten_is_not_watched(watched: Watched, sandbox: Sandbox) -> None:
    await watched.begin(MAP)
    await watched.after(1)
    watched.drift.forget(watched.world.identity)
    await watched.world.delete(MAP)
    assert await watched.after(10) == []
    watched.follow(MAP, mode="off")
    assert (await watched.after(10), len(_watches(sandbox))) == ([], 1)


def _watches(sandbox: Sandbox) -> list[str]:
    return [line for line in sandbox.faults.requests if "watch=true" in line]


async def test_one_watch_of_metadata_for_each_kind_serves_all_releases(watched: Watched, sandbox: Sandbox) -> None:
    for name in "abc":
        await watched.world.apply(made("ConfigMap", name))
        watched.drift.track(watched.world.identity._replace(name=name), [made("ConfigMap", name)], "missing")
    assert await watched.after(2) == []
    (line,) = _watches(sandbox)
    assert "labelSelector=app.kubernetes.io/managed-by%3DHelm" in line.replace("%2F", "/")
    await watched.world.delete(made("ConfigMap", "b"))
    assert await watched.after(0.1) == ["default/ConfigMap/b"]


async def test_objects_shown_before_they_are_tracked_are_read_only_if_they_were_changed_or_seen_long_ago(
    watched: Watched, sandbox: Sandbox
) -> None:
    watched.follow(MAP, mode="repair")
    await watched.after(1)
    maps = {name: made("ConfigMap", name, data={"color": "red"}) for name in ("old", "same", "edited")}
    await watched.world.apply(maps["old"])
    await watched.after(11)
    await watched.world.apply(maps["same"])
    await watched.world.apply(maps["edited"])
    await watched.world.edit(maps["edited"], {"data": {"color": "blue"}})
    await watched.after(2)
    sandbox.faults.requests.clear()
    watched.drift.track(watched.world.identity._replace(name="other"), maps.values(), "repair")
    assert await watched.after(5) == ["default/ConfigMap/edited /data/color"]
    read = [name for name in maps if any(f"/configmaps/{name}" in line for line in sandbox.faults.requests)]
    assert read == ["old", "edited"]


async def test_objects_that_a_release_has_just_made_are_not_missing(watched: Watched) -> None:
    """The watch is behind: it learns of them later than we."""
    await watched.begin(MAP)
    await watched.after(1)
    other = made("ConfigMap", "b")
    watched.follow(MAP, other)
    await watched.world.apply(other)
    assert (await watched.after(5), watched.found) == ([], [])


async def test_uninstalled_kind_makes_its_objects_missing(watched: Watched) -> None:
    widgets = definition("example.com", "Widget", "v1")
    await watched.world.apply(widgets)
    await watched.begin(WIDGET)
    assert await watched.after(5) == []
    await watched.world.delete(widgets)
    assert "default/Widget/w" in await watched.after(5)


async def test_object_of_a_newly_defined_kind_is_not_missing(watched: Watched) -> None:
    widgets = definition("example.com", "Widget", "v1")
    with pytest.raises(UnknownKind):
        await watched.world.discovery.resolve("example.com/v1", "Widget")
    watched.world.kinds.learn([widgets])
    await watched.world.apply(widgets)
    await watched.world.client.send(ApiCall("POST", "/apis/example.com/v1/namespaces/default/widgets", {}, WIDGET))
    watched.follow(WIDGET)
    assert await watched.after(5) == []


async def test_objects_of_an_unserved_kind_are_missing(watched: Watched) -> None:
    watched.follow(WIDGET)
    assert await watched.after(1) == ["default/Widget/w"]


@pytest.mark.parametrize(
    ("mode", "told"), [("missing", ""), ("repair", " /metadata/labels/app.kubernetes.io~1managed-by")]
)
async def test_object_that_lost_its_watched_label_is_reported(watched: Watched, mode: units.Drift, told: str) -> None:
    await watched.begin(MAP, mode=mode)
    await watched.after(1)
    await watched.world.edit(MAP, {"metadata": {"labels": dict.fromkeys(LABELS, "Other")}})
    assert await watched.after(1) == ["default/ConfigMap/a" + told]
    await watched.world.apply(MAP, force="true")
    assert (await watched.after(1), watched.found) == ([], [])


@pytest.mark.parametrize("mode", ["warn", "repair"])
async def test_changed_field_is_reported_once_until_it_changes_again(watched: Watched, mode: units.Drift) -> None:
    await watched.begin(MAP, mode=mode)
    assert await watched.after(5) == []
    for color in ("blue", "green", "yellow"):
        await watched.world.edit(MAP, {"data": {"color": color}})
    assert await watched.after(2) == ["default/ConfigMap/a /data/color"]
    await watched.world.edit(MAP, {"metadata": {"annotations": {"a": "b"}}})
    assert await watched.after(5) == []
    await watched.world.edit(MAP, {"data": {"size": None}})
    assert await watched.after(5) == ["default/ConfigMap/a /data/color /data/size"]
    await watched.world.edit(MAP, {"data": MAP["data"]})
    assert (await watched.after(20), watched.found) == ([], [])


@pytest.mark.parametrize("mode", ["warn", "repair"])
async def test_the_same_change_is_reported_again_after_it_was_undone(watched: Watched, mode: units.Drift) -> None:
    await watched.world.apply(DEPLOYMENT)
    watched.follow(DEPLOYMENT, mode=mode)
    for seconds in (2, 5):
        await watched.world.edit(DEPLOYMENT, {"metadata": {"labels": {"app": "mine"}}})
        assert await watched.after(seconds) == ["default/Deployment/web /metadata/labels/app"]
        await watched.world.apply(DEPLOYMENT, force="true")


async def test_the_same_change_is_reported_again_if_the_watch_has_not_shown_the_repair(
    watched: Watched, sandbox: Sandbox
) -> None:
    await watched.world.apply(DEPLOYMENT)
    watched.follow(DEPLOYMENT, mode="repair")
    change = {"metadata": {"labels": {"app": "mine"}}}
    await watched.world.edit(DEPLOYMENT, change)
    assert await watched.after(2) == ["default/Deployment/web /metadata/labels/app"]
    lost = sandbox.faults.add(Fault("drop", "deployments"))
    await watched.world.apply(DEPLOYMENT, force="true")
    watched.drift.mark_repaired(watched.world.identity, watched.drift.known_findings(watched.world.identity))
    await watched.world.edit(DEPLOYMENT, change)
    sandbox.faults.remove(lost)
    await sandbox.faults.expire("deployments")
    assert await watched.after(5) == ["default/Deployment/web /metadata/labels/app"]


@pytest.mark.slow
async def test_field_that_another_controller_keeps_setting_is_reported_ever_more_rarely(watched: Watched) -> None:
    await watched.begin(MAP, mode="repair")
    tellings = 0
    for _ in range(180):  # three hours in which both write whenever they see what the other has done
        await watched.world.edit(MAP, {"data": {"color": "blue"}}, manager="controller")
        if told := await watched.after(60):
            assert told == ["default/ConfigMap/a /data/color"]
            tellings += 1
            await watched.world.apply(MAP, force="true")
            watched.follow(MAP, mode="repair")
    assert 6 <= tellings <= 9


@pytest.mark.slow
async def test_second_edit_hours_later_is_reported_as_soon_as_the_first(watched: Watched) -> None:
    await watched.begin(MAP, mode="repair")
    for _ in range(3):
        await watched.after(4 * 3600)
        await watched.world.edit(MAP, {"data": {"color": "blue"}})
        assert await watched.after(2) == ["default/ConfigMap/a /data/color"]
        await watched.world.apply(MAP, force="true")


async def test_changed_fields_are_ignored_unless_requested(watched: Watched) -> None:
    await watched.begin(MAP)
    await watched.world.edit(MAP, {"data": {"color": "blue"}})
    assert await watched.after(100) == []


@pytest.mark.parametrize("shared", [True, False])
async def test_change_before_the_watch_is_reported_at_the_start(watched: Watched, shared: bool) -> None:
    if shared:  # the watch stands already, for another release
        watched.drift.track(watched.world.identity._replace(name="other"), [await watched.world.apply(MAP)], "missing")
        await watched.after(1)
    changed = made("ConfigMap", "b", data={"color": "red"})
    await watched.world.apply(changed)
    await watched.world.edit(changed, {"data": {"color": "blue"}})
    watched.follow(changed, mode="repair")
    assert await watched.after(3) == ["default/ConfigMap/b /data/color"]


@pytest.mark.slow
async def test_untouched_release_has_never_drifted(watched: Watched, sandbox: Sandbox) -> None:
    """1,000 ticks of what goes on in a cluster: controllers report, autoscalers scale, watches are renewed."""
    job = made("Job", "once", "batch/v1", spec=DEPLOYMENT["spec"] | {"ttlSecondsAfterFinished": 5})
    pre_delete = made("Job", "bye", "batch/v1")
    pre_delete["metadata"]["annotations"] = {"helm.sh/hook": "pre-delete"}
    for obj in (definition("example.com", "Widget", "v1"), MAP, ROLE, DEPLOYMENT, WIDGET):
        await watched.world.apply(obj)
    watched.follow(MAP, ROLE, DEPLOYMENT, WIDGET, job, pre_delete, mode="repair")
    for tick in range(1000):
        assert await watched.after(5) == []
        if tick % 25 == 0:
            await watched.world.status(DEPLOYMENT, observedGeneration=tick)
            await watched.world.edit(DEPLOYMENT, {"spec": {"replicas": 3 + tick}}, "scale", "kube-controller-manager")
    assert watched.found == []
    assert not [line for line in sandbox.faults.requests if "clusterroles/demo" in line and line.startswith("GET")]


async def test_status_updates_cause_no_read(watched: Watched, sandbox: Sandbox) -> None:
    """What was created has lists of which only their values tell whether they are as they were."""
    deployment = deepcopy(DEPLOYMENT)
    deployment["spec"]["template"]["spec"]["containers"] = [{"name": "web", "image": "web:1", "args": ["a"]}]
    await watched.world.create(deployment)
    watched.follow(deployment, mode="repair")
    assert await watched.after(5) == []
    for replicas in range(5):
        await watched.world.status(deployment, replicas=replicas)
        assert await watched.after(5) == []
    reads = [line for line in sandbox.faults.requests if line.startswith("GET") and "deployments/web" in line]
    assert len(reads) == 1
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:1", "args": ["b"]}]}}}}
    await watched.world.edit(deployment, patch)
    assert await watched.after(5) == ["default/Deployment/web /spec/template/spec/containers/0/args"]


async def test_unreadable_object_is_read_again_later(watched: Watched, sandbox: Sandbox) -> None:
    await watched.begin(MAP)
    await watched.after(1)
    sandbox.faults.add(Fault("answer", "GET /api/v1/namespaces/default/configmaps/a", times=2, status=503))
    await watched.world.delete(MAP)
    assert await watched.after(3) == []
    assert await watched.after(15) == ["default/ConfigMap/a"]


async def test_ignored_object_does_not_drift_until_the_annotation_goes(watched: Watched) -> None:
    await watched.world.apply(MAP)
    watched.drift.track(watched.world.identity, [MAP], "repair", ReleaseOptions(respect_ignore=True))
    await watched.world.edit(MAP, {"metadata": {"annotations": {IGNORE: ""}}, "data": {"color": "blue"}})
    assert (await watched.after(10), watched.found) == ([], [])
    await watched.world.edit(MAP, {"metadata": {"annotations": {IGNORE: None}}})
    assert await watched.after(10) == ["default/ConfigMap/a /data/color"]


async def test_lost_mark_is_drift(watched: Watched) -> None:
    """Objects are tracked with their marks; health finds them by one."""
    marked = with_marks(MAP, ObjectMarks({"hookrunner.io/addon": "demo"}))
    await watched.world.apply(marked)
    watched.drift.track(watched.world.identity, [marked], "repair")
    await watched.world.edit(MAP, {"metadata": {"labels": {"hookrunner.io/addon": None}}})
    assert await watched.after(10) == ["default/ConfigMap/a /metadata/labels/hookrunner.io~1addon"]


async def test_a_mark_of_its_release_that_an_object_lacks_is_drift(watched: Watched) -> None:
    marks = ObjectMarks(labels={"of": "a"})
    await watched.world.apply(with_marks(MAP, marks))
    watched.drift.track(watched.world.identity, [MAP], "repair", ReleaseOptions(marks=marks))
    assert await watched.after(10) == []
    await watched.world.edit(MAP, {"metadata": {"labels": {"of": None}}})
    assert await watched.after(10) == ["default/ConfigMap/a /metadata/labels/of"]


async def test_adopted_object_that_has_no_owner_is_no_drift(watched: Watched) -> None:
    """Its release has the owner reference of all its objects, but an adopted one is written without. Owners that the
    chart itself names are compared."""
    identity = watched.world.identity
    other = await watched.world.apply(made("ConfigMap", "b"))
    named = {"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": other["metadata"]["uid"]}
    ours = MAP | {"metadata": MAP["metadata"] | {"ownerReferences": [named]}}
    adopted = ours | {"metadata": ours["metadata"] | {"annotations": {ADOPTED: str(identity)}}}
    owner = OwnerReference("addons.x-k8s.io/v1alpha1", "Demo", "default", "u-1")
    marks = ObjectMarks(owner=owner)
    await watched.world.apply(adopted)
    watched.drift.track(identity, [ours], "repair", ReleaseOptions(marks=marks))
    assert await watched.after(10) == []
    await watched.world.edit(MAP, {"data": {"color": "blue"}, "metadata": {"ownerReferences": None}})
    assert await watched.after(10) == ["default/ConfigMap/a /metadata/ownerReferences /data/color"]


@pytest.mark.parametrize("mode", ["warn", "repair"])
async def test_field_that_the_server_does_not_know_is_no_drift(watched: Watched, mode: units.Drift) -> None:
    wrong = deepcopy(DEPLOYMENT)
    wrong["spec"]["repicas"] = 2
    await watched.world.apply(DEPLOYMENT)
    watched.follow(wrong, mode=mode)
    assert await watched.after(10) == []
    await watched.world.edit(DEPLOYMENT, {"spec": {"replicas": 5}})
    assert await watched.after(10) == ["default/Deployment/web /spec/replicas"]
