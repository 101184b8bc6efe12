"""Characters that a terminal obeys are shown, and what else there is stays. Level: pure."""

import json
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from hookrunner.cli.output import Color, style
from hookrunner.printable import printable, printable_but_colors, printable_json, printable_text
from tests.tables import each

OBEYED = ["\x00", "\x07", "\x08", "\x0b", "\x1b", "\x7f", "\x85", "\x9b", "\x9d", "\u2028", "\u202e", "\u2066"]


@each("char", OBEYED)
def test_control_characters_are_visible_in_every_form(char: str) -> None:
    for form in (printable, printable_text, printable_but_colors):
        assert form(f"a{char}b") == f"a{repr(char)[1:-1]}b"
    assert printable_json(f"a{char}b") == f"a\\u{ord(char):04x}b"


def test_lines_and_tabs_and_letters_of_all_scripts_stay() -> None:
    text = "a\tb\nÄ é 漢字 עברית 🙂"
    assert (printable(text), printable_text(text), printable_json(text)) == (text, text, text)


def test_ends_of_lines_as_on_windows_stay_in_texts_and_a_return_alone_is_shown() -> None:
    assert printable_text("a\r\nb\rc") == "a\r\nb\\rc"
    assert printable("a\r\n") == "a\\r\n"


def test_our_own_colours_stay_and_no_other_sequence() -> None:
    assert printable_but_colors("\x1b[32mok\x1b[0m \x1b[1m \x1b[8m \x1b]0;title\x07") == (
        "\x1b[32mok\x1b[0m \x1b[1m \\x1b[8m \\x1b]0;title\\x07"
    )


def test_every_colour_that_a_command_can_use_stays() -> None:
    for color in get_args(Color):
        styled = style("text", color, bold=True)
        assert printable_but_colors(styled) == styled != "text"


@given(st.text())
def test_a_json_text_means_what_it_meant(text: str) -> None:
    written = json.dumps({"a": text}, ensure_ascii=False)
    assert json.loads(printable_json(written)) == {"a": text}
