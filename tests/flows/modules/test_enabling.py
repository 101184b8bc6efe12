"""`enabled` scripts, modules that hooks turn on or off, and the deletion of modules. Level: control plane."""

from tests.flows.modules.hooks import at, configmap, enabled, hook, patch, unless, until_told, watching
from tests.flows.modules.world import World
from tests.flows.waiting import stays, until

TICK = [{"name": "tick", "crontab": "* * * * * *"}]


async def test_an_enabled_script_turns_a_module_off_with_a_reason(world: World) -> None:
    """It sees who is on before it."""
    said = 'grep -q \'"enabledModules":\\["a"\\]\' "$VALUES_PATH" && echo because > "$MODULE_ENABLED_REASON"'
    world.module("010-a")
    world.module("020-b", {"enabled": enabled(f'echo false > "$MODULE_ENABLED_RESULT"; {said}')})
    await world.configure(aEnabled="true", bEnabled="true")
    await world.start()
    await world.module_is("b", state="off", reason="because", by="ScriptEnabled")


async def test_disabled_modules_are_deleted_in_reverse_order_and_get_no_more_events(world: World) -> None:
    config = {"schedule": TICK, "kubernetes": [watching()], "beforeDeleteHelm": 1, "afterDeleteHelm": 1}
    for name in ("010-a", "020-b"):
        patches = at("onStartup", patch(f"/{name[4:]}/x", "1"))
        files = {"hooks/h.sh": hook(patches, onStartup=1, **config), "templates/cm.yaml": configmap(name[4:])}
        world.module(name, files)
    world.module("025-stuck", {"hooks/h.sh": hook(at("onStartup", "exit 1"), onStartup=1, **config)})
    world.module("030-bad", {"hooks/h.sh": hook()})
    await world.configure(aEnabled="true", bEnabled="true", stuckEnabled="true", badEnabled="true")
    await world.start()
    await world.ran("a/h.sh tick")
    await world.module_is("bad", ready=False, reason="h.sh")
    world.forget()
    await world.configure(aEnabled="false", bEnabled=None, stuckEnabled="false", badEnabled="false")
    await world.until(world.releases, [], "releases")
    await until(lambda: not any(row["phase"] for row in world.modules().values()), "all deleted")
    # Until it was turned off, `stuck` may have been tried once more.
    going = [run for run in world.history() if "tick" not in run and run != "stuck/h.sh onStartup"]
    deleted = [f"{name}/h.sh {when}" for name in "ba" for when in ("beforeDeleteHelm", "afterDeleteHelm")]
    assert going == ["stuck/h.sh afterDeleteHelm", *deleted]
    world.forget()
    await world.create("late", watched="y")
    await stays(lambda: world.history() == [], "nothing is heard", 1.5)
    await world.configure(aEnabled="true")
    await world.ran("a/h.sh tick", 2)
    assert world.history()[:2] == ["a/h.sh onStartup", "a/h.sh cms Synchronization"]
    assert world.told()[0]["values"]["a"] == {}, "what hooks had patched is gone"


async def test_a_global_hook_turns_modules_on_and_off_at_run_time(world: World) -> None:
    switch = patch("/aEnabled", '$(grep -q on "$BINDING_CONTEXT_PATH" && echo true || echo false)')
    world.write("global-hooks/g.sh", hook(at("Event", switch), kubernetes=[watching()], beforeAll=1))
    world.module("010-a", {"hooks/h.sh": hook(onStartup=1, afterDeleteHelm=1)})
    await world.start()
    for name, expected in (("on", "onStartup"), ("off", "afterDeleteHelm")):
        await world.create(name, watched="y")
        await world.ran(f"a/h.sh {expected}")
    assert world.history("beforeAll") == ["global/g.sh beforeAll"] * 3


async def test_hanging_and_failing_hooks_delay_neither_other_modules_nor_a_deletion(world: World) -> None:
    """The module's own tasks pass a failing hook; other modules do not wait long for a hanging one."""
    world.operator.flags = (*world.operator.flags, "--module-patience=1s")
    hangs = at("Event", until_told("go"))
    world.module("010-hangs", {"hooks/k.sh": hook(hangs, kubernetes=[watching()])})
    world.module("020-fails", {"hooks/k.sh": hook(at("Event", "exit 1"), kubernetes=[watching()], afterDeleteHelm=1)})
    world.module("030-c", {"hooks/h.sh": hook(beforeHelm=1, afterDeleteHelm=1)})
    await world.configure(hangsEnabled="true", failsEnabled="true", cEnabled="true")
    await world.start()
    await world.create("one", watched="y")
    await world.ran("cms Event", 2)
    await world.configure(GLOBAL="x: 1")
    await world.ran("c/h.sh beforeHelm", 2)
    await world.configure(hangsEnabled="false", failsEnabled="false", cEnabled="false")
    await world.ran("c/h.sh afterDeleteHelm")
    await world.ran("fails/k.sh afterDeleteHelm")
    world.operator.tell("go")
    await world.module_is("hangs", phase="")


WANTED = """jq '.a.wanted == true' "$VALUES_PATH" > "$MODULE_ENABLED_RESULT\""""


def asked(world: World) -> int:
    """How often scripts were asked."""
    return len((world.directory / "told" / "asked").read_text().splitlines())


async def test_an_edit_of_a_section_runs_the_enabled_script_of_its_module(world: World) -> None:
    """On, off, on again; an edit that switches nothing asks the script once and runs this module alone."""
    template = configmap("a", "size: {{ .Values.a.size | quote }}")
    world.module("010-a", {"enabled": enabled(WANTED), "templates/cm.yaml": template})
    world.module("020-b", {"hooks/h.sh": hook(beforeHelm=1)})
    await world.configure(aEnabled="true", bEnabled="true", a="{wanted: false, size: 1}")
    await world.start()
    await world.configure(a="{wanted: true, size: 2}")
    await world.becomes("a", size="2")
    await world.module_is("b", ready=True)
    world.forget()
    before = asked(world)
    await world.configure(a="{wanted: true, size: 3}")
    await world.becomes("a", size="3")
    assert (asked(world) - before, world.history("b/h.sh")) == (1, [])
    world.writes()
    await world.configure(a="{wanted: false, size: 4}")
    await world.module_is("a", state="off", by="ScriptEnabled")
    await world.becomes("a")
    assert "PATCH configmaps/a" not in world.writes(), "the values that turn it off are not applied before"


async def test_a_hanging_enabled_script_delays_no_edits_of_other_modules(world: World) -> None:
    hangs = f'{WANTED}; if grep -q hang "$VALUES_PATH"; then {until_told("go")} fi'
    world.module("010-a", {"enabled": enabled(hangs)})
    world.module("020-b", {"templates/cm.yaml": configmap("b", "size: {{ .Values.b.size | quote }}")})
    await world.configure(aEnabled="true", bEnabled="true", a="wanted: true", b="size: 1")
    await world.start()
    before = asked(world)
    await world.configure(a="{wanted: true, x: hang}")
    await until(lambda: asked(world) > before, "the script to be asked")
    await world.configure(b="size: 2")
    await world.becomes("b", size="2")
    world.operator.tell("go")


async def test_each_delete_hook_succeeds_once_despite_failures_and_new_rounds(real: World) -> None:
    """On the real control plane: each step of a deletion is done once, and an edit turns on others beside it."""
    lasts = at("beforeDeleteHelm", until_told("go")) + at("afterDeleteHelm", unless("mended"))
    files = {"hooks/1.sh": hook(beforeDeleteHelm=1, afterDeleteHelm=1), "templates/cm.yaml": configmap("a")}
    real.module("010-a", {**files, "hooks/2.sh": hook(lasts, beforeDeleteHelm=2, afterDeleteHelm=2)})
    real.module("020-b", {"hooks/h.sh": hook(beforeHelm=1)})
    await real.configure(aEnabled="true")
    await real.start()
    await real.configure(aEnabled="false")
    await real.ran("a/2.sh beforeDeleteHelm")
    await real.configure(bEnabled="true")
    real.operator.tell("go")
    await real.ran("b/h.sh beforeHelm")
    await real.ran("a/2.sh afterDeleteHelm")
    await real.module_is("a", state="off", reason="2.sh FAILED")
    real.operator.tell("mended")
    await real.configure(GLOBAL="x: 1")
    await real.module_is("a", phase="")
    assert await real.maps() == {}
    counts = {run: times for run, times in real.counts().items() if run.startswith("a")}
    failed = real.operator.metric("module_delete_errors_total", module="a")
    once = dict.fromkeys((f"a/{n}.sh {when}DeleteHelm" for n in (1, 2) for when in ("before", "after")), 1)
    assert counts == {**once, "a/2.sh afterDeleteHelm": 1 + failed}
