"""How tests are chosen and folded: `selection.py`, `live.py`, `tables.py`. Level: sandbox."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import live
from tests.tables import each


def test_each_pattern_of_live_inputs_matches_a_file() -> None:
    patterns = {pattern for patterns in live.ROOMS.values() for pattern in patterns}
    assert [pattern for pattern in sorted(patterns) if not any(live.ROOT.glob(pattern))] == []


def test_a_changed_input_changes_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "ROOT", tmp_path)
    monkeypatch.setattr(live, "ROOMS", {"room": ("code/**/*",)})
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("1")
    before = live.digest("room")
    assert live.digest("room") == before
    (tmp_path / "code" / "a.py").write_text("2")
    assert live.digest("room") != before


def test_a_file_belongs_to_the_innermost_room() -> None:
    rooms = [
        live.room_of(live.ROOT / path) for path in ("tests/kubesandbox/contract/test_x.py", "tests/kubesandbox/x.py")
    ]
    assert rooms == ["tests/kubesandbox/contract", "tests/kubesandbox"]
    assert live.room_of(live.ROOT / "tests/engine/test_queues.py") == ""


def test_a_table_runs_each_row_and_names_those_that_fail() -> None:
    seen = []

    @each("number", [1, 2, pytest.param(3, id="three"), 4])
    def is_even(number: int) -> None:
        seen.append(number)
        assert number % 2 == 0, "odd"

    run: Any = is_even
    with pytest.raises(AssertionError, match=r"2 of 4 rows failed:\nnumber=1\n    AssertionError: odd(.|\n)*\nthree\n"):
        run()
    assert seen == [1, 2, 3, 4]


def test_a_row_in_which_nothing_is_raised_fails_alone() -> None:
    @each("divisor", [0, 1, 0, 2])
    def cannot_be_divided_by(divisor: int) -> None:
        with pytest.raises(ZeroDivisionError):
            assert 1 / divisor

    run: Any = cannot_be_divided_by
    with pytest.raises(
        AssertionError, match=r"2 of 4 rows failed:\ndivisor=1\n    Failed: DID NOT(.|\n)*\ndivisor=2\n"
    ):
        run()


async def test_a_table_of_a_coroutine_is_awaited() -> None:
    @each(("left", "right"), [(1, 1), (1, 2)], ids=["same", "other"])
    async def is_same(left: int, right: int) -> None:
        assert left == right

    run: Any = is_same
    with pytest.raises(AssertionError, match="1 of 2 rows failed:\nother"):
        await run()


def test_tests_have_markers_of_their_fixtures(request: pytest.FixtureRequest) -> None:
    """This one, of none."""
    assert not {marker.name for marker in request.node.iter_markers()} & {"cluster", "story", "live"}


def test_a_test_that_starts_the_program_asks_for_the_launcher(
    launcher: tuple[str, ...], request: pytest.FixtureRequest
) -> None:
    assert launcher[1:] == ("-m", "hookrunner")
    assert request.node.get_closest_marker("story")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "has_both", "last"),
    [
        ([], False, r"\d+ tests that need a Kubernetes control plane were left out; with them: pytest --cluster"),
        (["--cluster"], True, r"\d+ tests collected in .*"),
        (["-m", "not cluster"], False, r"\d+/\d+ tests collected .*"),
    ],
    ids=["alone", "with --cluster", "with a marker"],
)
def test_tests_that_need_a_control_plane_are_left_out_and_counted(
    options: list[str], has_both: bool, last: str
) -> None:
    words = ["-n0", "-q", "--collect-only", "tests/kube/test_objects.py", *options]
    run = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=live.ROOT, capture_output=True, text=True)
    lines = [line for line in run.stdout.splitlines() if line]
    assert ("test_create_creates_an_object" in run.stdout, "test_names_are_quoted" in run.stdout) == (has_both, True)
    assert re.fullmatch(last, lines[-1])
