"""The picture in the README shows what its first command shows, on a machine that has Python and nothing else.

Level: sandbox."""

import re
from html import unescape
from pathlib import Path

import pytest

from tests.terminal_picture import PICTURE, draw, record


def words(picture: str) -> list[str]:
    """The rows of a picture, without times and other numbers."""
    rows = re.findall(r"<text [^>]*>(.*?)</text>", picture)
    return sorted(re.sub(r"[\d.]+", "0", unescape(re.sub(r"<[^>]*>", "", row))) for row in rows)


@pytest.mark.slow
@pytest.mark.usefixtures("launcher")
def test_the_picture_shows_what_is_seen_and_no_warning(tmp_path: Path) -> None:
    lines = record(tmp_path)
    assert words(draw(lines)) == words(PICTURE.read_text()), "run: python -m tests.terminal_picture"
    assert [line for line in lines if "warn" in line] == []


def test_long_lines_go_on_in_the_next_row_and_keep_their_color() -> None:
    rows = re.findall(r"<text [^>]*>(.*?)</text>", draw([f"\x1b[31m{'a' * 101}\x1b[0m&"]))
    assert rows == [f'<tspan fill="#ff7b72">{"a" * 100}</tspan>', '<tspan fill="#ff7b72">a</tspan>&amp;']
