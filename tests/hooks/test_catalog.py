"""Asking all hooks for their configurations. What an answer means is tested in config/. Level: pure."""

from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.errors import StartRefused
from hookrunner.hooks.catalog import Catalog, load
from hookrunner.jq.program import Jq
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings
from tests.hooks.conftest import MakeHook

STARTUP = """echo '{"configVersion": "v1", "onStartup": 1}'"""


@pytest.fixture
def skipping(settings: HooksSettings) -> HooksSettings:
    return replace(settings, on_bad="skip")


async def problem(settings: HooksSettings, children: Children, jq: Jq) -> str:
    """What is wrong with the only hook."""
    catalog = await load(settings, children, jq)
    assert catalog.hooks == ()
    (error,) = catalog.problems
    return str(error)


async def test_hooks_come_in_the_order_of_their_paths_with_their_configurations(
    settings: HooksSettings, children: Children, jq: Jq, make_hook: MakeHook, hooks_directory: Path
) -> None:
    make_hook("b.sh", "echo 'onStartup: 2'")
    make_hook("a/z.sh", STARTUP)
    catalog = await load(settings, children, jq)
    assert [(hook.name, hook.config.version, hook.config.on_startup) for hook in catalog.hooks] == [
        ("a/z.sh", "v1", 1),
        ("b.sh", "v0", 2),
    ]
    assert catalog.hooks[0].path == hooks_directory / "a/z.sh"


async def test_no_hooks_are_fine(settings: HooksSettings, children: Children, jq: Jq) -> None:
    assert await load(settings, children, jq) == Catalog(())
    assert await load(replace(settings, directory=None), children, jq) == Catalog(())


async def test_a_default_directory_may_be_missing(
    settings: HooksSettings, children: Children, jq: Jq, hooks_directory: Path
) -> None:
    hooks_directory.rmdir()
    assert await load(replace(settings, optional=True), children, jq) == Catalog(())
    with pytest.raises(StartRefused, match="not exist"):
        await load(settings, children, jq)


async def test_a_hook_is_asked_in_the_hooks_directory_with_the_environment_and_nothing_more(
    settings: HooksSettings, children: Children, jq: Jq, make_hook: MakeHook, hooks_directory: Path
) -> None:
    make_hook("sub/a.sh", f"echo $# $1 $PWD $METRICS_PATH > {hooks_directory}/seen.txt; cat; {STARTUP}")
    await load(settings, children, jq)
    assert (hooks_directory / "seen.txt").read_text() == f"1 --config {hooks_directory}\n"


async def test_hooks_are_asked_side_by_side(
    settings: HooksSettings, children: Children, jq: Jq, make_hook: MakeHook
) -> None:
    """Each waits for the other, so that one after another they would never end."""
    for name, other in ("ab", "ba"):
        make_hook(name, f"touch {name}.txt; until [ -e {other}.txt ]; do sleep 0.01; done; {STARTUP}")
    assert len((await load(settings, children, jq)).hooks) == 2


@pytest.mark.parametrize(
    ("script", "fragments"),
    [
        (
            "echo oops; echo why >&2; exit 3",
            ["cannot get config for hook '", "exit status 3", "output: 5 bytes", "why"],
        ),
        (
            "echo 'configVersion: v9'",
            ["value is unsupported", "hook --config output: 18 bytes; `hookrunner hook lint` shows it"],
        ),
        ("true", ["configVersion is not there", "hook --config output: nothing"]),
        ("head -c 5000 /dev/zero | tr '\\0' x", ["hook --config output: 5,000 bytes"]),
        ("head -c 17000000 /dev/zero", ["it printed more than 16 MiB"]),
        ("kill -9 $$", ["killed by SIGKILL"]),
    ],
)
async def test_the_error_of_a_bad_hook_quotes_its_output(
    skipping: HooksSettings, children: Children, jq: Jq, make_hook: MakeHook, script: str, fragments: list[str]
) -> None:
    make_hook("bad.sh", script)
    text = await problem(skipping, children, jq)
    assert text.startswith("hook 'bad.sh': ")
    assert [fragment for fragment in fragments if fragment not in text] == []


async def test_a_hook_that_hangs_is_given_up(
    skipping: HooksSettings, children: Children, jq: Jq, make_hook: MakeHook
) -> None:
    make_hook("hangs.sh", "exec sleep 60")
    text = await problem(replace(skipping, config_timeout=0.05), children, jq)
    assert "timed out after" in text
    assert "see --config-timeout" in text


async def test_a_symlink_to_nothing_is_a_bad_hook(
    skipping: HooksSettings, children: Children, jq: Jq, hooks_directory: Path
) -> None:
    (hooks_directory / "dangling").symlink_to("nowhere")
    assert "the file is not there" in await problem(skipping, children, jq)


async def test_a_symlink_to_a_file_that_is_not_executable_is_reported_with_advice(
    skipping: HooksSettings, children: Children, jq: Jq, make_hook: MakeHook, hooks_directory: Path
) -> None:
    make_hook("plain.txt", STARTUP).chmod(0o644)
    (hooks_directory / "link").symlink_to("plain.txt")
    assert f"chmod +x {hooks_directory}/link" in await problem(skipping, children, jq)


async def test_a_filter_that_does_not_compile_is_a_problem_of_its_hooks_only(
    skipping: HooksSettings, children: Children, jq: Jq, make_hook: MakeHook
) -> None:
    config = """{"configVersion": "v1", "kubernetes": [{"kind": "Pod", "jqFilter": ".a"}, {"kind": "Pod"%s}]}"""
    for name, more in (("a", ""), ("b", ', "jqFilter": ".["'), ("c", ', "jqFilter": ".["'), ("d", "")):
        make_hook(name, f"echo '{config % more}'")
    catalog = await load(skipping, children, jq)
    assert [hook.name for hook in catalog.hooks] == ["a", "d"]
    assert [error.hook for error in catalog.problems] == ["b", "c"]
    assert str(catalog.problems[0]).startswith(
        "hook 'b': invalid kubernetes config [1] jqFilter: compile jqFilter: syntax error"
    )


async def test_by_default_bad_hooks_refuse_the_start_and_all_are_named(
    settings: HooksSettings, children: Children, jq: Jq, make_hook: MakeHook
) -> None:
    make_hook("a.sh", "exit 1")
    make_hook("b.sh", STARTUP)
    make_hook("c.sh", "exit 1")
    with pytest.raises(StartRefused) as error:
        await load(settings, children, jq)
    assert "hook 'a.sh'" in str(error.value)
    assert "hook 'c.sh'" in str(error.value)
    assert str(error.value).endswith("Fix them, or leave them out with --on-bad-hook skip.")
