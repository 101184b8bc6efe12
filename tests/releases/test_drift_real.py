"""Drift on the real API server: it decides who owns fields, and the sandbox might be wrong. Level: control plane."""

from collections.abc import Sequence

from hookrunner.kube.client import Client
from hookrunner.model.releases import ReleaseOptions
from hookrunner.releases.manifest_applier import ManifestApplier
from hookrunner.releases.manifest_objects import KindResolver, object_id
from tests.flows.waiting import until
from tests.releases.watching import JSON, Watched, World, made, manifest, watching

DEPLOYMENT = manifest("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}, annotations: {}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, creationTimestamp: null}
    spec:
      securityContext: {}
      volumes: [{name: scratch, emptyDir: {}}]
      containers:
      - name: web
        image: web:1
        args: [serve]
        env: [{name: EMPTY, value: ""}, {name: FULL, value: "1"}]
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: 1000m, memory: 1024Mi}}
""")
SERVICE = made("Service", "web", spec={"selector": {"app": "web"}, "ports": [{"port": 80}]})
SECRET = made("Secret", "s", stringData={"password": "secret"})
MAP = made("ConfigMap", "m", data={"color": "red"})
OBJECTS = (DEPLOYMENT, SERVICE, SECRET, MAP)


async def applied(world: World, objects: Sequence[JSON], last: Sequence[JSON] = ()) -> None:
    """As a release's revision is brought about."""
    kinds = KindResolver(world.discovery)
    known = {object_id(obj, world.identity): obj for obj in last}
    await ManifestApplier(world.client, kinds).apply(objects, world.identity, known, ReleaseOptions())


async def first(watched: Watched) -> list[str]:
    """The first reports."""
    await until(lambda: bool(watched.told), "something to be told")
    told, watched.told = watched.told, []
    return told


async def test_untouched_release_has_no_drift_and_an_edit_is_reported(real: Client, namespace: str) -> None:
    """Created, changed by us, reported on by its controllers, scaled by an autoscaler, given things by others."""
    world = World(real, namespace)
    await applied(world, OBJECTS)
    changed = [DEPLOYMENT | {"spec": DEPLOYMENT["spec"] | {"minReadySeconds": 1}}, *OBJECTS[1:]]
    async with watching(world) as watched:
        watched.follow(*OBJECTS, mode="repair")
        await world.readiness.wait_ready(OBJECTS, namespace, 60)
        watched.drift.pause(world.identity)
        await applied(world, changed, OBJECTS)
        watched.follow(*changed, mode="repair")
        await world.edit(DEPLOYMENT, {"spec": {"replicas": 2}}, "scale", "kube-controller-manager")
        await world.edit(SERVICE, {"metadata": {"annotations": {"cloud": "told"}}}, manager="cloud")
        await world.readiness.wait_ready(OBJECTS, namespace, 60)
        await world.edit(MAP, {"data": {"color": "blue"}})
        assert await first(watched) == [f"{namespace}/ConfigMap/m /data/color"]
        container = {"name": "web", "image": "web:2"}
        patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
        await world.edit(DEPLOYMENT, patch, content="application/strategic-merge-patch+json")
        assert await first(watched) == [f"{namespace}/Deployment/web /spec/template/spec/containers/0/image"]
        await world.delete(SERVICE)
        assert await first(watched) == [f"{namespace}/Service/web"]
