"""No text makes a check fail or take long, hooks come from outside, and some are large. Level: pure."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrunner.linting.binding_checks import check_bindings, check_handlers
from hookrunner.linting.context_checks import check_contexts
from hookrunner.linting.file_checks import check_file
from hookrunner.linting.hook_source import Source
from hookrunner.model.bindings import HookConfig, Kubernetes, Schedule
from tests.examples import several
from tests.fakes.cost import QUADRATIC, growth

CONFIG = HookConfig(
    "v1",
    kubernetes=(Kubernetes("pods", "Pod", queue="q"), Kubernetes("n", "Node", snapshots=("pods", "n"))),
    schedules=(Schedule("s", "* * * * *", snapshots=("pods",)),),
)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PIECES = st.sampled_from(
    [
        "#!/bin/bash\n",
        "#!/usr/bin/env python3\n",
        '"$BINDING_CONTEXT_PATH"',
        "${BINDING_CONTEXT_PATH}",
        "jq ",
        " | jq ",
        "'.[0].object'",
        '".[$i].watchEvent"',
        ".filterResult",
        "snapshots.pods",
        '["snapshots"]["n"]',
        "json.load(f)",
        "x = json.loads(t)[0]\n",
        'x["object"]',
        "import os, json\n",
        "source shell_lib.sh\n",
        "hook::run",
        "__on_kubernetes::pods::added() {\n",
        "select(",
        "'",
        '"',
        "\\",
        "\n",
        "    ",
        "(",
        "#",
        "\r\n",
        "ä\u2028\x00",
    ]
)


def looked_at(text: str, name: str = "hook") -> Source:
    """All checks that read texts, each remark in its place."""
    source = Source(Path(name), text.encode(errors="surrogatepass"))
    for check in (check_contexts, check_handlers):
        for remark in check(source, CONFIG):
            assert source.place(remark.offset) >= (1, 1)
            assert remark.offset <= len(source.text)
    list(check_file(source))
    list(check_bindings(source, CONFIG, NOW))
    return source


@given(st.lists(PIECES, max_size=30).map("".join), st.sampled_from(["hook", "hook.py", "hook.sh"]))
def test_no_text_makes_a_check_fail(text: str, name: str) -> None:
    looked_at(text, name)


@pytest.mark.slow
@given(st.text(), st.sampled_from(["hook", "hook.py", "hook.sh"]))
def test_no_random_text_makes_a_check_fail(text: str, name: str) -> None:
    looked_at(text, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "jq -r '.[0].type' \"$BINDING_CONTEXT_PATH\" | cat\n",
        'jq "$BINDING_CONTEXT_PATH"',
        'jq \' "$BINDING_CONTEXT_PATH" \\\n',
        "select(",
        "            ",
        "cat $BINDING_CONTEXT_PATH | jq ''",
        ".snapshots.pods ",
        "jq -c -r -n",
        "# comment\n",
        'x["object"] = json.load(f)\n',
    ],
)
@pytest.mark.parametrize("first", ["#!/bin/sh\n", "#!/usr/bin/python3\n"])
def test_cost_of_checks_is_linear_in_the_text(piece: str, first: str) -> None:
    def work(size: int) -> None:
        looked_at(first + piece * (size // len(piece)))

    assert growth(work, several(50_000)) < QUADRATIC * 0.7
