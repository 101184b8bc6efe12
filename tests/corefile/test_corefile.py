"""Corefiles are read by CoreDNS' rules, and edits leave alone what they are not about. Level: pure."""

from typing import Any

import pytest

from tests.corefile.library import corefile
from tests.tables import each


def said(text: str) -> list[Any]:
    return list(corefile.structure(corefile.parse(text)))


@each(
    "text, expected",
    [
        ("", []),
        (". {\n whoami\n}\n", [[["."], [[["whoami"], []]]]]),
        ("a:53,\nb:53 {\n}", [[["a:53,", "b:53"], []]]),
        (".\n{\n log\n}", [[["."], [[["log"], []]]]]),
        (". {\n a { b c }\n d {\n }\n}", [[["."], [[["a"], [[["b", "c"], []]]], [["d"], []]]]]),
        (". {\n a {\n b {\n c {\n d\n }\n }\n }\n}", [[["."], [[["a"], [[["b"], [[["c"], [[["d"], []]]]]]]]]]]),
        (".:53\nerrors\nforward . 8.8.8.8", [[[".:53"], [[["errors"], []], [["forward", ".", "8.8.8.8"], []]]]]),
        ("import more\n. {\n}", [[["import", "more"], []], [["."], []]]),
        ('. {\n a "b  c" "d\\"e" ""\n}', [[["."], [[["a", "b  c", 'd"e', ""], []]]]]),
        ('. {\n a "b\nc" d\n e\n}', [[["."], [[["a", "b\nc", "d"], []], [["e"], []]]]]),
        (
            "# x {\n. { # y }\n a#z\n b {$HOME} {%X%} c{\n}",
            [[["."], [[["a"], []], [["b", "{$HOME}", "{%X%}", "c{"], []]]]],
        ),
        ("\ufeff. {\r\n a\r\n}\r\n", [[["."], [[["a"], []]]]]),
    ],
)
def test_texts_are_read_as_by_coredns(text: str, expected: Any) -> None:
    assert said(text) == expected


@each(
    "text, reason",
    [
        (". {\n log\n", "line 1: '{' is not closed"),
        (". {\n}\n}\n", "line 3: '}' closes nothing"),
        ("\n{\n log\n}", "line 2: no address of a server before '{'"),
        (". {\n log }\n}", "line 3: '}' closes nothing"),
        (". {\n {\n }\n}", "line 2: '{' in an unexpected place"),
        (". {\n a\n {\n }\n}", "line 3: '{' must stand on the line of what it belongs to"),
        ('. {\n log "a\n}', "line 2: a quote is opened and not closed"),
        ("a, {\n}", "line 1: another address is missing after ','"),
        ("log\n}\n", "line 2: '}' in an unexpected place"),
        (". {\n" + "a {\n" * 30, "line 21: more than 20 braces are open"),
    ],
)
def test_texts_that_coredns_refuses_are_errors_with_their_line(text: str, reason: str) -> None:
    with pytest.raises(corefile.Unreadable) as failed:
        corefile.parse(text)
    assert str(failed.value) == reason


@each(
    "text, expected",
    [
        (". {\n\ta\n}", ". {\n\ta\n\tnew\n}"),
        (". {\n}", ". {\n    new\n}"),
        ("a.b", "a.b {\n    new\n}"),
        (".:53\nerrors # x\n", ".:53\nerrors # x\nnew\n"),
    ],
)
def test_lines_are_added_in_the_style_of_their_neighbours(text: str, expected: str) -> None:
    assert corefile.changed(text, [corefile.added(text, corefile.parse(text)[0], "new")]) == expected


def test_a_line_is_deleted_with_its_comment_and_nothing_else() -> None:
    text = ". {\n    # before\n    a b {\n        c # of c\n    } # of a\n    d # of d\n}\n"
    server = corefile.parse(text)[0]
    kept = corefile.changed(text, [corefile.deleted(text, server.children[0])])
    assert kept == ". {\n    # before\n    d # of d\n}\n"
    assert corefile.changed(text, []) == text
