"""What few words mean: by the hook, by the objects, by the options."""

from pathlib import Path
from typing import Any

import pytest

from hookrunner.errors import BadInput
from hookrunner.model.bindings import Admission, BindingType, Change, Conversion, Hook, HookConfig, Kubernetes, Schedule
from hookrunner.testing import happenings
from hookrunner.testing.asking import Words, happening
from hookrunner.testing.happenings import Changed, Grouped, Happening, Lifecycle, Review, Startup, Synchronization, Tick
from tests.fakes.cluster import configmap

A, B = configmap("a"), configmap("b")
PODS, OFTEN = Kubernetes("pods", "Pod"), Schedule("often", "* * * * *")
POLICY, UP = Admission("p.example.com"), Conversion("up", "c.example.com", (("v1", "v2"),))


def hook(**parts: Any) -> Hook:
    return Hook("h", Path("/h"), HookConfig("v1", **parts))


LIFECYCLE = {BindingType.BEFORE_HELM: 1, BindingType.AFTER_HELM: 1}
EVERYTHING = hook(
    on_startup=1.0, lifecycle=LIFECYCLE, schedules=(OFTEN,), kubernetes=(PODS,), mutating=(POLICY,), conversions=(UP,)
)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (Words("Startup"), Startup()),
        (Words("Schedule", "often"), Tick("often")),
        (Words("Synchronization", "pods"), Synchronization("pods")),
        (Words("Deleted", objects=(A,)), Changed(Change.DELETED, A)),
        (Words("Review", objects=(A,)), Review("CREATE", A)),
        (Words("Review", objects=(A,), old=B), Review("UPDATE", A, B)),
        (Words("Conversion", objects=(A, B), to="v2"), happenings.Conversion((A, B), "v2")),
        (Words("Lifecycle", "beforeHelm"), Lifecycle("beforeHelm")),
        (Words(binding="afterHelm"), Lifecycle("afterHelm")),
        (Words(group="g"), Grouped("g")),
        (Words(binding="onStartup"), Startup()),
        (Words(binding="* * * * *"), Tick("* * * * *")),
        (Words(binding="often"), Tick("often")),
        (Words(binding="pods"), Synchronization("pods")),
        (Words(binding="kubernetes[0]", objects=(A,)), Changed(Change.ADDED, A, None, "kubernetes[0]")),
        (Words(objects=(A,)), Changed(Change.ADDED, A)),
        (Words(objects=(A,), old=B), Changed(Change.MODIFIED, A, B)),
        (Words(binding="p.example.com", objects=(A,)), Review("CREATE", A, None, "p.example.com")),
        (Words(operation="delete", objects=(A,), dry_run=True), Review("DELETE", A, dry_run=True)),
        (Words(operation="DELETE", old=A), Review("DELETE", A, A)),
        (Words(part="status", objects=(A,), old=B), Review("UPDATE", A, B, part="status")),
        (Words(to="v2", objects=(A,)), happenings.Conversion((A,), "v2")),
        (Words(binding="up", objects=(A,)), happenings.Conversion((A,), "", "up")),
    ],
)
def test_words_mean_a_happening(words: Words, meant: Happening) -> None:
    assert happening(EVERYTHING, words) == meant


@pytest.mark.parametrize(
    ("alone", "meant"),
    [
        (hook(on_startup=1.0), Startup()),
        (hook(lifecycle={BindingType.BEFORE_ALL: 1}), Lifecycle("")),
        (hook(schedules=(OFTEN,)), Tick()),
        (hook(kubernetes=(PODS, PODS)), Synchronization()),
    ],
)
def test_a_hook_that_hears_of_one_kind_of_thing_needs_no_words(alone: Hook, meant: Happening) -> None:
    assert happening(alone, Words()) == meant


@pytest.mark.parametrize(
    ("asked", "words", "said"),
    [
        (EVERYTHING, Words(), "Say it by the event or by the binding; the hook has onStartup"),
        (hook(), Words(), "the hook has no bindings"),
        (EVERYTHING, Words(binding="pod"), "no binding is named 'pod'; did you mean 'pods'"),
        (EVERYTHING, Words(binding="xyz"), "no binding is named 'xyz'; it has"),
        (EVERYTHING, Words("Added"), "an event Added is about one object, not 0"),
        (EVERYTHING, Words("Review", objects=(A, B)), "a review is about one object, not 2"),
    ],
)
def test_what_is_not_clear_is_refused(asked: Hook, words: Words, said: str) -> None:
    with pytest.raises(BadInput) as found:
        happening(asked, words)
    assert said in str(found.value)
