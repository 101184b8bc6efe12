"""Which handler gets which context. Level: pure."""

import pytest

from tests.shell.conftest import Hook

EVENT = {"binding": "pods", "type": "Event"}
CONVERSION = {"binding": "up", "type": "Conversion", "fromVersion": "stable.io/v1", "toVersion": "stable.io/v2"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("context", "handlers"),
    [
        ({"binding": "onStartup"}, "__on_startup"),
        ({"binding": "beforeAll", "snapshots": "none"}, "__on_before_all"),
        ({"binding": "afterAll"}, "__on_after_all"),
        ({"binding": "beforeHelm"}, "__on_before_helm"),
        ({"binding": "afterHelm"}, "__on_after_helm"),
        ({"binding": "beforeDeleteHelm"}, "__on_before_delete_helm"),
        ({"binding": "afterDeleteHelm"}, "__on_after_delete_helm"),
        ({"binding": "beforeHelm", "type": "Schedule"}, "__on_schedule::beforeHelm"),
        (
            {"binding": "pods", "type": "Synchronization"},
            "__on_kubernetes::pods::synchronization __on_kubernetes::pods",
        ),
        (
            EVENT | {"watchEvent": "Added"},
            "__on_kubernetes::pods::added __on_kubernetes::pods::added_or_modified __on_kubernetes::pods",
        ),
        (
            EVENT | {"watchEvent": "Modified"},
            "__on_kubernetes::pods::modified __on_kubernetes::pods::added_or_modified __on_kubernetes::pods",
        ),
        (EVENT | {"watchEvent": "Deleted"}, "__on_kubernetes::pods::deleted __on_kubernetes::pods"),
        ({"binding": "pods", "type": "Group", "groupName": "g"}, "__on_group::g"),
        ({"binding": "hourly", "type": "Schedule"}, "__on_schedule::hourly"),
        ({"binding": "p.example.com", "type": "Validating"}, "__on_validating::p.example.com"),
        ({"binding": "p.example.com", "type": "Mutating"}, "__on_mutating::p.example.com"),
        (CONVERSION, "__on_conversion::up::stable.io.v1::stable.io.v2 __on_conversion::up"),
        ({"type": "Schedule"}, "__on_schedule::unknown"),
        ({"binding": "onKubernetesEvent", "resourceEvent": "add"}, ""),
    ],
)
def test_handlers_are_searched_from_special_to_general(context: dict[str, str], handlers: str, hook: Hook) -> None:
    names = [*handlers.split(), "__main__"]
    for first in range(len(names)):
        script = "\n".join(f"{name}() {{ echo {name}; }}" for name in reversed(names[first:]))
        assert hook(script, [context]).stdout == f"{names[first]}\n"


@pytest.mark.slow
def test_without_any_handler_the_hook_fails_and_names_its_candidates(hook: Hook) -> None:
    done = hook("", [{"binding": "hourly", "type": "Schedule"}])
    assert done.returncode == 1
    assert "ERROR: Can't find any handler from the list: __on_schedule::hourly __main__\n" in done.stderr


@pytest.mark.slow
def test_a_binding_with_a_space_gets_the_general_handler(hook: Hook) -> None:
    done = hook("__main__() { echo main; }", [{"binding": "my pods", "type": "Schedule"}])
    assert done.stdout == "main\n"


@pytest.mark.slow
def test_each_context_is_handled_once_and_in_order(hook: Hook) -> None:
    script = '__main__() { echo "$BINDING_CONTEXT_CURRENT_INDEX $BINDING_CONTEXT_CURRENT_BINDING"; }'
    assert hook(script, [{"binding": "a"}, {"binding": "b"}, {}]).stdout == "0 a\n1 b\n2 unknown\n"


@pytest.mark.slow
def test_variables_do_not_survive_from_one_context_to_the_next(hook: Hook) -> None:
    done = hook('seen=0\n__main__() { seen=$((seen + 1)); echo "$seen"; }', [{}, {}])
    assert done.stdout == "1\n1\n"


@pytest.mark.slow
def test_the_first_failing_context_ends_the_hook_with_its_status(hook: Hook) -> None:
    done = hook('__main__() { echo "$BINDING_CONTEXT_CURRENT_BINDING"; exit 7; }', [{"binding": "a"}, {"binding": "b"}])
    assert (done.returncode, done.stdout) == (7, "a\n")


def test_config_is_answered_without_any_context(hook: Hook) -> None:
    done = hook("__config__() { echo 'configVersion: v1'; }", None, "--config")
    assert (done.returncode, done.stdout) == (0, "configVersion: v1\n")
