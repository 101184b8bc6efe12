"""What is read from a text before any check: its language, comments, sourced files, and positions. Level: pure."""

import ast
from pathlib import Path

from hookrunner.linting.file_checks import check_keys
from hookrunner.linting.hook_source import Language, Source
from tests.tables import each


def source(text: str, name: str = "hook") -> Source:
    return Source(Path(name), text.encode())


@each(
    ("first", "name", "language"),
    [
        ("#!/bin/sh", "hook", Language.SHELL),
        ("#! /usr/bin/env bash", "hook", Language.SHELL),
        ("#!/usr/bin/env -S bash -e", "hook", Language.SHELL),
        ("#!/usr/bin/bash -eu\r", "hook.py", Language.SHELL),
        ("#!/usr/bin/env python3.12", "hook", Language.PYTHON),
        ("#!/usr/bin/perl", "hook.sh", Language.OTHER),
        ("echo", "hook.sh", Language.SHELL),
        ("print()", "hook.py", Language.PYTHON),
        ("", "hook", Language.OTHER),
        ("\x7fELF\0", "hook.sh", Language.SHELL),
    ],
)
def test_the_language_is_that_of_the_first_line_or_of_the_name(first: str, name: str, language: Language) -> None:
    assert source(f"{first}\n", name).language is language


@each(
    ("line", "others"),
    [
        ('source "$(hookrunner shell-lib)"', False),
        ("source /shell_lib.sh", False),
        (". /frameworks/shell/lib.sh", False),
        ("source /shell_lib.sh; source ./mine.sh", True),
        ("[[ -e x ]] && source x", True),
        ("if true; then . ./x.sh; fi", True),
        ('for f in $(find . -name x); do source "$f"; done', True),
        ("# source ./x.sh", False),
        ("jq '.[] | . as $x | .source'", False),
        ("echo the source of it", False),
    ],
)
def test_sourced_files_are_recognized(line: str, others: bool) -> None:
    assert source(f"#!/bin/bash\n{line}\n").sources_others is others


def test_comments_become_blanks_and_offsets_stay() -> None:
    shell = source("#!/bin/sh\n  # jq\nx=1 # y\n")
    assert shell.code == "#!/bin/sh\n      \nx=1 # y\n"
    python = source('#!/usr/bin/python3\nx = "#"  # jq\n"""# y"""\n')
    assert python.code == f'{" " * 18}\nx = "#"{" " * 6}\n"""# y"""\n'


def test_form_feed_ends_no_line_of_python() -> None:
    python = source("#!/usr/bin/python3\n\f\nx = y[0]  # z\n")
    assert python.code == f"{' ' * 18}\n\f\nx = y[0]{' ' * 5}\n"
    assert python.tree is not None
    [found] = [node for node in ast.walk(python.tree) if isinstance(node, ast.Subscript)]
    assert python.text[python.offset(found) :].startswith("y[0]")


def test_key_in_either_spelling_is_located() -> None:
    shell = source('#!/bin/bash\ncat <<E\nconfigVersion: v1\n"configVersi\\u006fn": v1\nE\n')
    [remark] = check_keys(shell)
    assert shell.place(remark.offset) == (4, 1)


def test_position_counts_lines_and_columns_from_one() -> None:
    text = source("#!/bin/sh\nä z\n")
    assert [text.place(text.text.index(word)) for word in ("#", "ä", "z")] == [(1, 1), (2, 1), (2, 3)]
