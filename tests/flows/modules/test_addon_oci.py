"""Instances whose packages come from the distribution project's registry, with a login in a Secret. Level: sandbox."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from signal import SIGKILL

from kubetypes.json_values import JSON
from tests.flows.modules.test_addon_instances import ADDON, MANIFEST, SPEC, channel, put, reaches, start, status
from tests.flows.modules.world import World
from tests.flows.waiting import until
from tests.oracles.distribution import Distribution, running_registry
from tests.packages.oci.artifacts import Artifact, Layout, bundle_artifact, channel_artifact, files_artifact
from tests.packages.oci.registry_server import USER


def publish(place: Distribution | Layout, version: str, form: Callable[[Mapping[str, bytes]], Artifact]) -> None:
    """A package without a list of checksums, and the channel that leads to it."""
    files = {"objects.yaml": MANIFEST.format(version=version).encode()}
    put = place.put if isinstance(place, Layout) else place.push
    put("team/addons/thing", version, form(files))
    put("team/addons/channels", "stable", channel_artifact(channel(version).encode()))


def logins(auths: JSON) -> JSON:
    """A Secret as `kubectl create secret docker-registry` makes it."""
    data = {".dockerconfigjson": json.dumps({"auths": auths})}
    return {"metadata": {"name": "logins"}, "type": "kubernetes.io/dockerconfigjson", "stringData": data}


def refusals(world: World) -> float:
    return world.operator.metric("addon_channel_reads_total", result="Unreachable")


async def shown_version(world: World) -> tuple[str, bool]:
    shown = await status(world)
    return shown.get("version", ""), shown.get("healthy", False)


async def test_a_registry_is_followed_and_what_runs_outlives_it_and_a_kill(world: World, tmp_path: Path) -> None:
    await follow_a_registry(world, tmp_path)


async def follow_a_registry(world: World, tmp_path: Path) -> None:
    """Refused without a login, installed, upgraded to a bundle image; what runs outlives the registry and a kill."""
    (tmp_path / "registry").mkdir()
    with running_registry(tmp_path / "registry", has_login=True) as registry:
        publish(registry, "1.0.0", files_artifact)
        host = registry.url.removeprefix("http://")
        world.write("addons/thing/addon.yaml", f"{ADDON}source: oci+http://{host}/team/addons\n")
        world.write("addons/thing/openapi/spec.yaml", SPEC)
        world.operator.flags += (f"--addons-dir={world.directory / 'addons'}", "--addon-refresh=1s")
        world.operator.flags += ("--addon-credentials=secret:default/logins",)
        await world.ask("POST", world.path(resource="secrets"), logins({}))
        await start(world)
        await put(world)
        assert "it asks for a login" in (await reaches(world, "PackageError", "Unreachable"))["errors"][0]
        login = {host: {"username": USER.user, "password": USER.password}}
        await world.ask("PATCH", world.path("logins", "secrets"), logins(login))
        assert (await reaches(world, "Current", "Current"))["version"] == "1.0.0"
        publish(registry, "2.0.0", bundle_artifact)
        await world.becomes("of-thing", text="hi", version="2.0.0")
        await world.until(lambda: shown_version(world), ("2.0.0", True), "the status")
        before = refusals(world)  # for want of a login

    await until(lambda: refusals(world) > before, "a refused question")
    await world.operator.stop(SIGKILL)
    await world.start()
    await put(world, text="changed")
    await world.becomes("of-thing", text="changed", version="2.0.0")
    await world.until(lambda: shown_version(world), ("2.0.0", True), "the status")
    assert USER.password not in json.dumps(world.operator.logs())
