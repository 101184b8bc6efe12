"""Which handler gets which context. Level: pure."""

import pytest

from tests.shell.conftest import Hook

CONVERSION = {"binding": "up", "type": "Conversion", "fromVersion": "stable.io/v1", "toVersion": "stable.io/v2"}
ROWS: list[tuple[dict[str, str], str]] = [
    ({"binding": "onStartup"}, "__on_startup"),
    ({"binding": "beforeAll", "snapshots": "none"}, "__on_before_all"),
    ({"binding": "afterAll"}, "__on_after_all"),
    ({"binding": "beforeHelm"}, "__on_before_helm"),
    ({"binding": "afterHelm"}, "__on_after_helm"),
    ({"binding": "beforeDeleteHelm"}, "__on_before_delete_helm"),
    ({"binding": "afterDeleteHelm"}, "__on_after_delete_helm"),
    ({"binding": "beforeHelm", "type": "Schedule"}, "__on_schedule::beforeHelm"),
    ({"binding": "all", "type": "Synchronization"}, "__on_kubernetes::all::synchronization __on_kubernetes::all"),
    (
        {"binding": "new", "type": "Event", "watchEvent": "Added"},
        "__on_kubernetes::new::added __on_kubernetes::new::added_or_modified __on_kubernetes::new",
    ),
    (
        {"binding": "old", "type": "Event", "watchEvent": "Modified"},
        "__on_kubernetes::old::modified __on_kubernetes::old::added_or_modified __on_kubernetes::old",
    ),
    (
        {"binding": "gone", "type": "Event", "watchEvent": "Deleted"},
        "__on_kubernetes::gone::deleted __on_kubernetes::gone",
    ),
    ({"binding": "pods", "type": "Group", "groupName": "g"}, "__on_group::g"),
    ({"binding": "hourly", "type": "Schedule"}, "__on_schedule::hourly"),
    ({"binding": "p.example.com", "type": "Validating"}, "__on_validating::p.example.com"),
    ({"binding": "p.example.com", "type": "Mutating"}, "__on_mutating::p.example.com"),
    (CONVERSION, "__on_conversion::up::stable.io.v1::stable.io.v2 __on_conversion::up"),
    ({"type": "Schedule"}, "__on_schedule::unknown"),
    ({"binding": "my pods", "type": "Schedule"}, ""),
    ({"binding": "onKubernetesEvent", "resourceEvent": "add"}, ""),
]
"""Contexts, and the handlers of each besides `__main__`: no two have one in common."""


@pytest.mark.slow
@pytest.mark.parametrize("first", range(4))
def test_handlers_are_searched_from_special_to_general(first: int, hook: Hook) -> None:
    """The hook has those from this one on."""
    rows = [(context, names) for context, text in ROWS if (names := [*text.split(), "__main__"][first:])]
    script = "\n".join(f"{name}() {{ echo {name}; }}" for _, names in rows for name in reversed(names))
    assert hook(script, [context for context, _ in rows]).stdout.split() == [names[0] for _, names in rows]


@pytest.mark.slow
def test_without_any_handler_the_hook_fails_and_names_its_candidates(hook: Hook) -> None:
    done = hook("", [{"binding": "hourly", "type": "Schedule"}])
    assert done.returncode == 1
    assert "ERROR: Can't find any handler from the list: __on_schedule::hourly __main__\n" in done.stderr


@pytest.mark.slow
def test_each_context_is_handled_once_in_order_and_with_variables_of_its_own(hook: Hook) -> None:
    shown = "$BINDING_CONTEXT_CURRENT_INDEX $BINDING_CONTEXT_CURRENT_BINDING $seen"
    script = f'seen=0\n__main__() {{ seen=$((seen + 1)); echo "{shown}"; }}'
    assert hook(script, [{"binding": "a"}, {"binding": "b"}, {}]).stdout == "0 a 1\n1 b 1\n2 unknown 1\n"


@pytest.mark.slow
def test_the_first_failing_context_ends_the_hook_with_its_status(hook: Hook) -> None:
    done = hook('__main__() { echo "$BINDING_CONTEXT_CURRENT_BINDING"; exit 7; }', [{"binding": "a"}, {"binding": "b"}])
    assert (done.returncode, done.stdout) == (7, "a\n")


def test_config_is_answered_without_any_context(hook: Hook) -> None:
    done = hook("__config__() { echo 'configVersion: v1'; }", None, "--config")
    assert (done.returncode, done.stdout) == (0, "configVersion: v1\n")
