"""docs/addons.md and docs/quickstart.md are true: their commands for addons run as they are written, on the sandbox,
and print what the page says.

Level: sandbox."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from signal import SIGTERM

import pytest

from tests import launcher
from tests.flows.waiting import until
from tests.test_docs_modules import call, commands, environ, prints, run

pytestmark = pytest.mark.usefixtures("launcher")

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "addons.md").read_text()
QUICK_START = (ROOT / "docs" / "quickstart.md").read_text()
START = re.compile(r"^    hookrunner (start --sandbox --simulate --addons-dir addons .*?)(?: +#|$)", re.MULTILINE)


def first_page() -> list[str]:
    """The commands of the quick start's block about addons."""
    block = QUICK_START[QUICK_START.index("## Addons") :].split("```")[1]
    return [line.partition("  #")[0].strip() for line in block.splitlines()[1:] if line]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A checkout as far as the commands see it."""
    (tmp_path / "addons").symlink_to(ROOT / "addons")
    return tmp_path


@pytest.fixture
async def env(directory: Path) -> AsyncIterator[dict[str, str]]:
    """Variables of the second terminal; in the first one hookrunner has defined the addons' kinds."""
    variables = environ(directory)
    (page,), (quick_start,) = START.findall(PAGE), START.findall(QUICK_START)
    assert page == quick_start
    with (directory / "log").open("wb") as log:
        child = launcher.start(page.split(), cwd=directory, env=variables, stdout=log.fileno(), stderr=log.fileno())
    try:
        await until((directory / "kubeconfig").exists, "the sandbox")
        await prints("kubectl get crd", "coredns.addons.x-k8s.io", directory, variables)
        yield variables
    finally:
        child.send_signal(SIGTERM)
        await asyncio.to_thread(child.wait)


async def test_first_addon_is_installed_changed_and_removed_as_the_page_says(
    directory: Path, env: dict[str, str]
) -> None:
    for line, words in commands("live", PAGE):
        await prints(line, words, directory, env)


async def test_offline_commands_print_what_the_page_shows(directory: Path) -> None:
    variables = environ(directory)
    lines = commands("offline", PAGE)
    printed = await asyncio.gather(*(run(line, directory, variables) for line, _ in lines))
    assert [words for (_, words), text in zip(lines, printed, strict=True) if words not in text] == []


async def test_commands_of_the_first_page_succeed(directory: Path, env: dict[str, str]) -> None:
    lines = first_page()
    assert len(lines) == 7
    assert await _failures(lines, directory, env) == []
    await prints("kubectl get cluster-addons -A", "1.14.2", directory, env)


async def _failures(lines: Sequence[str], directory: Path, env: dict[str, str]) -> list[str]:
    """What those commands print that fail."""
    done = [await call(line, directory, env | {"COLUMNS": "80"}) for line in lines]
    return [printed for code, printed in done if code]
