"""A hook that misbehaves harms only itself: others go on, and the log says which hook and why. Level: control plane."""

from pathlib import Path

from tests.flows.conftest import Start
from tests.flows.objects import ConfigMaps
from tests.flows.scripts import hook, watching


async def test_a_filter_that_uses_all_memory_affects_only_its_binding(operator: Start, cms: ConfigMaps) -> None:
    """Inside hookrunner's own process it would end the program."""
    cms.create("old")
    greedy = watching(cms.namespace, jqFilter="def f: 1 + f; f")
    program = await operator({"a.sh": greedy, "b.sh": watching(cms.namespace, jqFilter=".data | length")}, ready=False)
    await program.not_ready("a.sh: cms: its filter fails on")
    await program.has_run("b.sh")
    cms.create("new")
    assert await program.hears("b.sh", 1) == [("Added", "new")]
    assert program.runs("a.sh") == []
    assert program.metric("filter_errors_total", hook="a.sh") >= 1


async def test_a_flood_of_output_without_newlines_is_cut_and_the_run_ends(operator: Start) -> None:
    """The program, and not only its reader of lines (`tests/process/test_children.py`)."""
    flood = "head -c 20000000 /dev/zero | tr '\\0' x\nhead -c 20000000 /dev/zero | tr '\\0' y >&2\n"
    program = await operator({"h.sh": hook({"onStartup": 1}, flood)})
    assert program.metric("hook_run_success_total", hook="h.sh") == 1
    assert all(len(line) < 2 << 20 for line in (program.directory / "log").read_text().splitlines())
    assert Path(program.directory / "log").stat().st_size < 5 << 20


async def test_a_background_child_does_not_delay_the_end_of_a_run(operator: Start, cms: ConfigMaps) -> None:
    """The predecessor waited for every process that held the hook's output."""
    program = await operator({"h.sh": watching(cms.namespace, "sleep 3600 &\n")})
    for number in range(2):
        cms.create(f"n{number}")
        await program.hears("h.sh", number + 1)
    program.kill()


async def test_on_bad_hook_skip_leaves_a_bad_hook_out(operator: Start, cms: ConfigMaps) -> None:
    scripts = {"bad.sh": hook({"kubernetes": [{"jqFilter": ".["}]}), "good.sh": watching(cms.namespace)}
    program = await operator(scripts, "--on-bad-hook=skip")
    await program.has_run("good.sh")
    assert "left out: bad.sh" in program.get("/readyz")[1]
    assert (await program.wait_log("hook is left out"))["hook"] == "bad.sh"
