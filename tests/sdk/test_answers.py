"""What functions of hooks return: when to be run again, and what means nothing. Level: pure."""

from typing import Any

import pytest

from hookrunner.sdk import After, Deny, Hook
from hookrunner.sdk.testing import run


@pytest.mark.parametrize(("time", "seconds"), [("30s", 30), ("1m30s", 90), ("1.5h", 5400), ("500ms", 0.5), (2, 2)])
def test_the_time_before_another_run_is_a_number_or_as_settings_have_it(time: Any, seconds: float) -> None:
    assert After(time).seconds == seconds


@pytest.mark.parametrize("time", ["30", "s", "1 m", "soon", "-5s", "", "0s"])
def test_another_text_is_no_time(time: str) -> None:
    with pytest.raises(ValueError, match=r"After\(seconds="):
        After(time)


@pytest.mark.parametrize("result", [30, "30s", True, 1.5, {"a": 1}, [], object()])
def test_what_a_function_returns_in_vain_is_an_error(result: Any) -> None:
    hook = Hook()
    hook.reconcile("Pod", name="pods")(lambda pod: result)
    with pytest.raises(TypeError, match=r"return After\(seconds=30\) to be run again"):
        run(hook, "pods", object={"kind": "Pod", "metadata": {"name": "a"}})


@pytest.mark.parametrize("result", [False, {"allowed": False}, Deny("no")])
def test_a_verdict_that_is_returned_is_an_error_and_no_permission(result: Any) -> None:
    hook = Hook()
    hook.validate("a.b.c")(lambda review: result)
    with pytest.raises(TypeError, match="raise Deny to refuse"):
        run(hook, "a.b.c", event="CREATE", object={"kind": "Namespace"})


def test_another_run_needs_some_time_before_it() -> None:
    with pytest.raises(ValueError, match="needs some time"):
        After()
