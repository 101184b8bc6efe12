"""A start over releases of an earlier life: up to date, of unclear state, turned off meanwhile, or without a module.

Level: sandbox."""

from tests.flows.modules.hooks import at, configmap, enabled, hook
from tests.flows.modules.world import World

RESTLESS = """\
apiVersion: v1
kind: Secret
metadata: {name: restless}
stringData: {ca: {{ genCA "ca" 30 | toJson | quote }}, revision: "{{ .Release.Revision }}"}
"""
LOOKUP = configmap("looker", 'found: {{ (lookup "v1" "ConfigMap" .Release.Namespace "alpha").data | toJson | quote }}')


async def test_a_restart_with_nothing_to_do_writes_nothing_at_all(world: World) -> None:
    every = hook(onStartup=1, beforeHelm=1, afterHelm=1)
    world.module("010-alpha", {"templates/cm.yaml": configmap("alpha", "x: z"), "hooks/h.sh": every})
    world.module("020-restless", {"templates/s.yaml": RESTLESS})
    world.module("030-looker", {"templates/cm.yaml": LOOKUP})
    world.module("040-plain", {"hooks/h.sh": every})
    await world.configure(alphaEnabled="true", restlessEnabled="true", lookerEnabled="true", plainEnabled="true")
    await world.start()
    releases = await world.releases()
    await world.stop()
    world.writes()
    await world.again()
    runs = ["onStartup", "beforeHelm", "afterHelm"]
    assert world.history() == [f"{name}/h.sh {run}" for name in ("alpha", "plain") for run in runs]
    await world.stop()
    assert world.writes() == []
    assert await world.releases() == releases == ["alpha.v1 deployed", "looker.v1 deployed", "restless.v1 deployed"]


async def test_no_release_is_deleted_while_a_module_is_undecided(world: World) -> None:
    """Every start over live releases, of which one has no module any more."""
    world.module("010-a", {"templates/cm.yaml": configmap("a"), "openapi/config-values.yaml": "type: object\n"})
    world.write("global-hooks/openapi/config-values.yaml", "type: object\nproperties: {color: {type: string}}\n")
    world.module("020-gone", {"templates/cm.yaml": configmap("gone")})
    await world.configure(aEnabled="true", goneEnabled="true")
    await world.start()
    await world.stop()
    world.writes()
    world.without("modules/020-gone")
    await world.configure(a="[1]")
    await _restarts_and_deletes_nothing(world)
    await world.configure(a=None, GLOBAL="color: 5")
    await _restarts_and_deletes_nothing(world, ready=False)
    await world.configure(GLOBAL=None)
    world.module("010-a", {"enabled": enabled("exit 3")})
    await _restarts_and_deletes_nothing(world)
    world.without("modules/010-a/enabled")
    world.module("010-a", {"openapi/config-values.yaml": "[no, schema]\n"})
    await _restarts_and_deletes_nothing(world)
    world.without("modules/010-a")
    await _restarts_and_deletes_nothing(world)


async def _restarts_and_deletes_nothing(world: World, ready: bool = True) -> None:
    await world.again(ready)
    await world.operator.wait_log("nothing is purged")
    await world.stop()
    (world.directory / "log").unlink()
    assert set(await world.maps()) == {"a", "gone"}
    assert world.writes() == []


async def test_a_module_turned_off_while_the_program_was_down_is_deleted_with_its_hooks(world: World) -> None:
    """Heaviest first; one that may not be deleted yet does not delay the others."""
    away = hook(at("beforeDeleteHelm", "echo >&2 no"), beforeDeleteHelm=1, afterDeleteHelm=1)
    for name in ("010-a", "020-b", "030-c"):
        world.module(name, {"templates/cm.yaml": configmap(name[4:]), "hooks/h.sh": away})
    await world.configure(aEnabled="true", bEnabled="true", cEnabled="true")
    await world.start()
    await world.stop()
    await world.configure(aEnabled="false", cEnabled="false")
    await world.again()
    deleted = [f"{name}/h.sh {when}" for name in "ca" for when in ("beforeDeleteHelm", "afterDeleteHelm")]
    assert world.history() == deleted
    assert set(await world.maps()) == {"b"}
    assert await world.releases() == ["b.v1 deployed"]


async def test_purge_removes_only_releases_of_hookrunner_and_addon_operator(world: World) -> None:
    world.module("010-a", {"templates/cm.yaml": configmap("a")})
    world.module("020-old", {"templates/cm.yaml": configmap("old")})
    world.module("030-kept", {"templates/cm.yaml": configmap("kept")})
    await world.configure(aEnabled="true", oldEnabled="true", keptEnabled="true")
    await world.start()
    await world.stop()
    labels = {"owner": "helm", "name": "foreign", "status": "deployed", "version": "1"}
    foreign = {"metadata": {"name": "sh.helm.release.v1.foreign.v1", "labels": labels}, "type": "helm.sh/release.v1"}
    await world.ask("POST", world.path(resource="secrets") + "?story=yes", {**foreign, "data": {"release": "bm9uZQ=="}})
    world.without("modules/020-old")
    world.without("modules/030-kept")
    world.operator.flags = (*world.operator.flags, "--helm-ignore-release=kept")
    await world.again()
    await world.until(world.releases, ["a.v1 deployed", "foreign.v1 deployed", "kept.v1 deployed"], "releases")
    assert set(await world.maps()) == {"a", "kept"}
    assert world.history() == []


async def test_a_deletion_includes_kinds_that_left_the_chart_before(world: World) -> None:
    world.module("010-a", {"templates/cm.yaml": configmap("a"), "templates/more.yaml": configmap("more")})
    world.module("010-a", {"templates/sa.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: sa}\n"})
    await world.configure(aEnabled="true")
    await world.start()
    await world.stop()
    world.without("modules/010-a/templates/sa.yaml")
    await world.again()
    assert await world.ask("GET", world.path("sa", "serviceaccounts"), None) is None
    world.without("modules/010-a/templates/more.yaml")
    await world.configure(aEnabled="false")
    await world.until(world.releases, [], "releases")
    assert await world.maps() == {}
