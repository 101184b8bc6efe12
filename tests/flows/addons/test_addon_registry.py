"""An addon on a real control plane whose packages are in the distribution project's registry, behind a login that is
kept in a Secret.

Level: control plane."""

import asyncio
from pathlib import Path

from tests.flows.addons.cluster_world import ClusterWorld
from tests.flows.addons.things_world import create, maps, thing
from tests.instances.lives.places import MAP, write_addon
from tests.oracles.distribution import Distribution, running_registry
from tests.packages.oci.artifacts import bundle_artifact, channel_artifact, files_artifact
from tests.packages.oci.registry_server import USER

LOGIN = ("create", "secret", "docker-registry", "logins", f"--docker-username={USER.user}")


def publish(registry: Distribution, version: str) -> None:
    """The second version is a bundle image."""
    files = {"objects.yaml": MAP.format(name="a", value=version).encode()}
    form = files_artifact if version == "1.0.0" else bundle_artifact
    registry.push("team/addons/thing", version, form(files))
    text = f"manifests: [{{version: {version}}}]\n".encode()
    registry.push("team/addons/channels", "stable", channel_artifact(text))


async def test_packages_of_a_registry_are_installed_upgraded_and_kept(there: ClusterWorld, tmp_path: Path) -> None:
    (tmp_path / "registry").mkdir()
    flags = there.world.operator.flags
    with running_registry(tmp_path / "registry", has_login=True) as registry:
        host = registry.url.removeprefix("http://")
        password = f"--docker-password={USER.password}"
        await there.kubectl(*LOGIN, password, f"--docker-server={host}", "--namespace=default")
        await asyncio.to_thread(publish, registry, "1.0.0")
        write_addon(there.world.directory, more=f"source: oci+http://{host}/team/addons\n")
        there.world.operator.flags = (*flags[:-1], f"--addons-dir={there.world.directory / 'addons'}")
        there.world.operator.flags += ("--addon-credentials=secret:default/logins", "--addon-refresh=1s")
        await there.world.start()
        await create(there, "default")
        await asyncio.to_thread(publish, registry, "2.0.0")
        await there.reaches(thing("default"), {"version": "2.0.0", "healthy": True})
    await there.world.stop()
    await there.world.start()
    await there.reaches(thing("default"), {"version": "2.0.0", "healthy": True})
    assert await maps(there, "default") == {"a": "2.0.0"}
