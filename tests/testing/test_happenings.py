"""How incomplete descriptions of happenings are completed from the hook, the objects and the options. Level: pure."""

from pathlib import Path
from typing import Any

import pytest

from hookrunner.errors import BadInput
from hookrunner.model.bindings import (
    Admission,
    BindingType,
    Change,
    ConversionBinding,
    Hook,
    HookConfig,
    Kubernetes,
    Schedule,
)
from hookrunner.testing import happenings
from hookrunner.testing.happenings import (
    Changed,
    Grouped,
    Happening,
    HappeningOptions,
    Lifecycle,
    Review,
    Startup,
    Synchronization,
    Tick,
    parse_happening,
)
from tests.fakes.objects import config_map
from tests.tables import each

A, B = config_map("a"), config_map("b")
PODS, OFTEN = Kubernetes("pods", "Pod"), Schedule("often", "* * * * *")
POLICY, UP = Admission("p.example.com"), ConversionBinding("up", "c.example.com", (("v1", "v2"),))


def hook(**parts: Any) -> Hook:
    return Hook("h", Path("/h"), HookConfig("v1", **parts))


LIFECYCLE = {BindingType.BEFORE_HELM: 1, BindingType.AFTER_HELM: 1}
EVERYTHING = hook(
    on_startup=1.0, lifecycle=LIFECYCLE, schedules=(OFTEN,), kubernetes=(PODS,), mutating=(POLICY,), conversions=(UP,)
)


@each(
    ("words", "meant"),
    [
        (HappeningOptions("Startup"), Startup()),
        (HappeningOptions("Schedule", "often"), Tick("often")),
        (HappeningOptions("Synchronization", "pods"), Synchronization("pods")),
        (HappeningOptions("Deleted", objects=(A,)), Changed(Change.DELETED, A)),
        (HappeningOptions("Review", objects=(A,)), Review("CREATE", A)),
        (HappeningOptions("Review", objects=(A,), old=B), Review("UPDATE", A, B)),
        (HappeningOptions("Conversion", objects=(A, B), to="v2"), happenings.Conversion((A, B), "v2")),
        (HappeningOptions("Lifecycle", "beforeHelm"), Lifecycle("beforeHelm")),
        (HappeningOptions(binding="afterHelm"), Lifecycle("afterHelm")),
        (HappeningOptions(group="g"), Grouped("g")),
        (HappeningOptions(binding="onStartup"), Startup()),
        (HappeningOptions(binding="* * * * *"), Tick("* * * * *")),
        (HappeningOptions(binding="often"), Tick("often")),
        (HappeningOptions(binding="pods"), Synchronization("pods")),
        (HappeningOptions(binding="kubernetes[0]", objects=(A,)), Changed(Change.ADDED, A, None, "kubernetes[0]")),
        (HappeningOptions(objects=(A,)), Changed(Change.ADDED, A)),
        (HappeningOptions(objects=(A,), old=B), Changed(Change.MODIFIED, A, B)),
        (HappeningOptions(binding="p.example.com", objects=(A,)), Review("CREATE", A, None, "p.example.com")),
        (HappeningOptions(operation="delete", objects=(A,), dry_run=True), Review("DELETE", A, dry_run=True)),
        (HappeningOptions(operation="DELETE", old=A), Review("DELETE", A, A)),
        (HappeningOptions(part="status", objects=(A,), old=B), Review("UPDATE", A, B, part="status")),
        (HappeningOptions(to="v2", objects=(A,)), happenings.Conversion((A,), "v2")),
        (HappeningOptions(binding="up", objects=(A,)), happenings.Conversion((A,), "", "up")),
    ],
)
def test_options_describe_a_happening(words: HappeningOptions, meant: Happening) -> None:
    assert parse_happening(EVERYTHING, words) == meant


@each(
    ("alone", "meant"),
    [
        (hook(on_startup=1.0), Startup()),
        (hook(lifecycle={BindingType.BEFORE_ALL: 1}), Lifecycle("")),
        (hook(schedules=(OFTEN,)), Tick()),
        (hook(kubernetes=(PODS, PODS)), Synchronization()),
    ],
)
def test_single_kind_of_binding_needs_no_options(alone: Hook, meant: Happening) -> None:
    assert parse_happening(alone, HappeningOptions()) == meant


@each(
    ("asked", "words", "message"),
    [
        (EVERYTHING, HappeningOptions(), "Say it by the event or by the binding; the hook has onStartup"),
        (hook(), HappeningOptions(), "the hook has no bindings"),
        (EVERYTHING, HappeningOptions(binding="pod"), "no binding is named 'pod'; did you mean 'pods'"),
        (EVERYTHING, HappeningOptions(binding="xyz"), "no binding is named 'xyz'; it has"),
        (EVERYTHING, HappeningOptions("Added"), "an event Added is about one object, not 0"),
        (EVERYTHING, HappeningOptions("Review", objects=(A, B)), "a review is about one object, not 2"),
    ],
)
def test_ambiguous_happening_is_refused(asked: Hook, words: HappeningOptions, message: str) -> None:
    with pytest.raises(BadInput) as found:
        parse_happening(asked, words)
    assert message in str(found.value)
