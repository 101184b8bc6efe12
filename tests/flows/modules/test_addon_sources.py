"""Instances whose packages come over the network, and the flags that say where, for whom and how. Level: sandbox."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import pytest
from aiohttp import web

from hookrunner.packages.package import parse_package
from hookrunner.packages.signatures.signing_keys import read_signing_key
from kubetypes.openapi import builtin_kinds
from tests.flows.modules.test_addon_instances import ADDON, MANIFEST, SPEC, THINGS, channel, put, reaches, start, status
from tests.flows.modules.world import World
from tests.packages.signatures.openssl import make_key

CONTAINER = """\
apiVersion: v1
kind: Pod
metadata: {name: of-thing}
spec: {containers: [{name: a, image: registry.k8s.io/pause:3.10}]}
"""


@dataclass
class Server:
    """Files by path, paths that are answered with 503, and the paths that were asked for."""

    files: dict[str, str] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)
    base: str = ""

    def put(self, version: str) -> None:
        """A package, and a channel that leads to it."""
        files = {"objects.yaml": MANIFEST.format(version=version), "package.yaml": "description: a ConfigMap\n"}
        digest = parse_package("thing", version, {path: text.encode() for path, text in files.items()}).digest
        self.files |= {f"/packages/thing/{version}/{path}": text for path, text in files.items()}
        sums = "".join(f"{sha256(text.encode()).hexdigest()}  {path}\n" for path, text in files.items())
        self.files[f"/packages/thing/{version}/SHA256SUMS"] = sums
        self.files["/stable"] = f'manifests:\n- {{version: {version}, digest: "{digest}"}}\n'

    async def handle(self, request: web.BaseRequest) -> web.Response:
        self.requests.append(request.path)
        if request.path in self.broken:
            return web.Response(status=503)
        text = self.files.get(request.path)
        return web.Response(status=404) if text is None else web.Response(text=text)


@asynccontextmanager
async def serve_packages() -> AsyncIterator[Server]:
    """An empty server, as long as the context lasts."""
    server = Server()
    runner = web.ServerRunner(web.Server(server.handle), shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve_packages() as server:
        server.put("1.0.0")
        yield server


@pytest.fixture
def things(world: World, server: Server) -> World:
    """An addon that is fetched."""
    world.write("addons/thing/addon.yaml", f"{ADDON}source: {server.base}\n")
    world.write("addons/thing/openapi/spec.yaml", SPEC)
    cache = f"--addon-cache-dir={world.directory / 'cache'}"
    world.operator.flags += (f"--addons-dir={world.directory / 'addons'}", cache)
    return world


def steps_taken(world: World, name: str) -> list[str]:
    """Those of these steps that an instance has taken since the start, also in attempts that failed."""
    labels = {"addon": "thing", "namespace": "default", "name": name}
    steps = ("resolve", "fetch", "render", "apply")
    return [step for step in steps if world.operator.metric("addon_run_seconds_count", **labels, step=step)]


async def test_restart_with_nothing_to_do_fetches_nothing(things: World, server: Server) -> None:
    await start(things)
    await put(things)
    before = await reaches(things, "Current", "Current")
    assert "/stable" in server.requests
    server.requests.clear()
    await things.again()
    await put(things, "y", text="other")
    await reaches(things, "Conflict", "Owned", "y")
    assert set(server.requests) == {"/stable"}, "what y has asked for, in each of its attempts"
    assert await status(things) == before
    assert steps_taken(things, "x") == []
    assert steps_taken(things, "y") == ["resolve", "fetch", "render", "apply"]


async def test_channel_that_moves_is_followed_and_so_is_an_upgrade_of_the_cluster(
    things: World, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    things.operator.flags += ("--addon-refresh=300ms",)
    await start(things)
    await put(things)
    await things.becomes("of-thing", text="hi", version="1.0.0")
    server.put("2.0.0")
    await things.becomes("of-thing", text="hi", version="2.0.0")
    server.put("3.0.0")
    entries = ('{version: 2.0.0, kubernetesVersion: "<1.99"}', '{version: 3.0.0, kubernetesVersion: ">=1.99"}')
    server.files["/stable"] = f"manifests: [{', '.join(entries)}]"
    monkeypatch.setitem(builtin_kinds.document()["version"], "gitVersion", "v1.99.1")  # what the sandbox says it is
    await things.becomes("of-thing", text="hi", version="3.0.0")


async def put_map(world: World, name: str, labels: dict[str, str], **data: str) -> None:
    """Create a ConfigMap of the namespace addons, or change its data."""
    maps = "/api/v1/namespaces/addons/configmaps"
    if await world.ask("GET", f"{maps}/{name}", None):
        await world.ask("PATCH", f"{maps}/{name}", {"data": data})
        return
    metadata = {"name": name, "labels": labels}
    await world.ask("POST", maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


async def test_required_object_and_source_in_the_cluster_are_watched(world: World) -> None:
    """Nothing is looked at from time to time here."""
    required = "requires: {objects: [{apiVersion: v1, kind: ConfigMap, namespace: addons, name: needed}]}\n"
    world.write("addons/thing/addon.yaml", f"{ADDON}{required}source: configmap:addons\n")
    world.write("addons/thing/openapi/spec.yaml", SPEC)
    world.operator.flags += (f"--addons-dir={world.directory / 'addons'}", "--addon-refresh=0")
    await start(world)
    await world.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "addons"}})
    for version in ("1.0.0", "2.0.0"):
        labels = {"hookrunner.io/package": "thing", "hookrunner.io/package-version": version}
        await put_map(world, f"thing-{version}", labels, **{"objects.yaml": MANIFEST.format(version=version)})
    await put_map(world, "addon-channels", {}, stable=channel("1.0.0"))
    await put(world)
    await reaches(world, "Pending", "Waiting")
    await put_map(world, "needed", {})
    await world.becomes("of-thing", text="hi", version="1.0.0")
    await put_map(world, "addon-channels", {}, stable=channel("2.0.0"))
    await world.becomes("of-thing", text="hi", version="2.0.0")
    await put_map(world, "thing-2.0.0", {}, **{"objects.yaml": MANIFEST.format(version="2.0.0-mended")})
    await world.becomes("of-thing", text="hi", version="2.0.0-mended")


async def test_images_come_from_the_private_registry(world: World) -> None:
    for path, text in (("addon.yaml", ADDON), ("openapi/spec.yaml", SPEC), ("channels/stable", channel("1.0.0"))):
        world.write(f"addons/thing/{path}", text)
    world.write("addons/thing/channels/packages/thing/1.0.0/objects.yaml", CONTAINER)
    flags = ("--private-registry=registry.example.com/mirror", "--image-pull-secret=pull")
    world.operator.flags += (f"--addons-dir={world.directory / 'addons'}", *flags)
    await start(world)
    await put(world)

    async def image() -> tuple[str, list[dict[str, str]]]:
        spec = ((await world.ask("GET", world.path("of-thing", "pods"), None)) or {}).get("spec")
        return (spec["containers"][0]["image"], spec["imagePullSecrets"]) if spec else ("", [])

    await world.until(image, ("registry.example.com/mirror/pause:3.10", [{"name": "pull"}]), "the image")
    assert await world.ask("GET", f"{THINGS}/x", None)


async def test_source_that_is_not_protected_refuses_the_start(things: World) -> None:
    things.operator.flags += ("--addon-source=http://example.com/addons",)
    await things.start(ready=False)
    assert await things.operator.ended() == 2
    assert "--addon-source: http://example.com is not protected" in things.operator.story()


def sign(server: Server, key: Path) -> None:
    """Sign all that the server has."""
    signer = read_signing_key(key)
    for path, text in list(server.files.items()):
        if path.endswith(("/stable", "/SHA256SUMS")):
            server.files[f"{path}.sig"] = signer.sign(text.encode()).decode()


async def test_what_no_trusted_key_has_signed_changes_nothing_that_runs(things: World, server: Server) -> None:
    public = make_key(things.directory / "release.key")
    make_key(things.directory / "other.key")
    things.operator.flags += ("--addon-verify=signature", f"--addon-keys={public}")
    await start(things)
    await put(things)
    assert "has no signature" in (await reaches(things, "PackageError", "Unverified"))["errors"][0]
    sign(server, things.directory / "release.key")
    await put(things, text="signed")
    await things.becomes("of-thing", text="signed", version="1.0.0")
    await reaches(things, "Current", "Current")
    server.put("2.0.0")
    sign(server, things.directory / "other.key")
    await put(things, text="forged")
    refused = await reaches(things, "PackageError", "Unverified")
    assert ("fits none of the keys" in refused["errors"][0], refused["version"]) == (True, "1.0.0")
    assert (await things.map("of-thing"))["text"] == "signed"


async def test_key_that_is_none_refuses_the_start(things: World) -> None:
    make_key(things.directory / "release.key")
    things.operator.flags += ("--addon-verify=signature", f"--addon-keys={things.directory / 'release.key'}")
    await things.start(ready=False)
    assert await things.operator.ended() == 1
    assert "release.key has a private key; give the public one" in things.operator.story()
