"""Filters of hooks that look for our environment and our files: they see the object and nothing else.

Level: sandbox."""

from pathlib import Path
from typing import Any

import pytest

from tests.flows.operator import Operator
from tests.flows.scripts import hook
from tests.security.attacked import attacked

pytestmark = pytest.mark.usefixtures("launcher")

SECRET = "swordfish-4711"
NOTHING: list[tuple[str, Any]] = [
    ("env", {}),
    ("$ENV", {}),
    ("env.TOKEN", None),
    ("[$ENV[]]", []),
    ('"\\($ENV)"', "{}"),
    ("try error(env) catch .", {}),
    ('reduce env[] as $x (""; . + $x)', ""),
    ("input_filename", None),
    ("get_search_list", []),
    ("[get_prog_origin, get_jq_origin]", []),
    ("$__loc__.file", "<top-level>"),
    ("try input_line_number catch .", "Unknown input line number"),
    ('now | strflocaltime("%Z")', "UTC"),
    *((f'try ("{name}" | modulemeta | true) catch false', False) for name in ("secret", "./secret", "{home}/secret")),
]
REFUSED = [
    "input",
    "[inputs]",
    "try input catch .",
    'import "secret" as $s; $s',
    'import "secret" as s; s::x',
    'import "{home}/secret" as $s; $s',
    'include "secret"; x',
    'include "secret" {search: "{home}"}; x',
    "module {a: 1}; .",
    '. as $x | import "secret" as $s; $s',
    ".) | env | (.",
    "x",
    "$TOKEN",
    "$__prog_args",
    "$ARGS.named",
    'getenv("TOKEN")',
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """With definitions and data that libjq would find, also where the program was started."""
    for directory in (tmp_path, tmp_path / ".jq"):
        directory.mkdir(exist_ok=True)
        (directory / "secret.jq").write_text(f'module {{"a": "{SECRET}"}}; def x: "{SECRET}";')
        (directory / "secret.json").write_text(f'"{SECRET}"')
    return tmp_path


def script(home: Path, filters: list[str]) -> str:
    """A hook that has each of them on the namespace `default`."""
    where = {"kind": "Namespace", "nameSelector": {"matchNames": ["default"]}, "keepFullObjectsInMemory": False}
    texts = [text.replace("{home}", str(home)) for text in filters]
    return hook({"kubernetes": [where | {"name": text, "jqFilter": text} for text in texts]})


async def test_no_filter_finds_a_variable_or_a_file(home: Path) -> None:
    programs = {"h.sh": script(home, [text for text, _ in NOTHING])}
    environ = {"TOKEN": SECRET, "HOME": str(home), "TZ": "UTC"}
    async with attacked(home, programs, "--log-level=debug", environ=environ) as target:
        await target.program.has_run("h.sh", len(NOTHING))
        contexts: list[Any] = target.program.contexts("h.sh")
        assert [one["objects"][0]["filterResult"] for one in contexts] == [result for _, result in NOTHING]
        assert SECRET not in (home / "log").read_text() + str(contexts)


async def test_filters_that_name_files_refuse_the_start_and_show_nothing(home: Path) -> None:
    program = Operator(home, home / "none", environ={"TOKEN": SECRET, "HOME": str(home)})
    program.write_hooks({"h.sh": script(home, REFUSED)})
    program.start()
    try:
        assert await program.ended() == 1
    finally:
        program.kill()
    said = (home / "errors").read_text()
    assert said.count(": compile jqFilter: ") == len(REFUSED)
    assert SECRET not in said + (home / "log").read_text()
