"""What the HTTP servers show while the program starts. Level: pure."""

import asyncio
from collections.abc import Sequence

import pytest

from hookrunner.metrics.hooks import HookMetrics
from hookrunner.metrics.names import Metrics
from hookrunner.model.needs import Urgency, UserNeed
from hookrunner.model.status import ConvergeDump
from hookrunner.status_views import StatusViews, combine_conditions


def test_before_hooks_are_loaded_nothing_is_ready_and_every_view_is_empty() -> None:
    views = StatusViews(Metrics(), HookMetrics())
    [condition] = views.conditions()
    assert (condition.name, condition.ready, condition.message) == ("hooks", False, "hooks are being loaded")
    assert (views.queues(), views.hooks(), views.snapshots("a"), views.pages.modules) == ([], [], None, None)
    assert views.converge() == ConvergeDump()


def test_two_parts_that_call_a_condition_the_same_are_one() -> None:
    ready, lost, news = (True, ""), (False, "Nodes: no route"), (True, "a message")
    assert combine_conditions(None, lost) == lost
    assert combine_conditions(ready, lost) == lost
    assert combine_conditions(lost, news) == (False, "Nodes: no route; a message")


class Part:
    """A part of the program with one condition, and what else it reports."""

    ready, message = True, ""
    reported: Sequence[UserNeed] = ()

    def conditions(self) -> dict[str, tuple[bool, str]]:
        return {"addons": (self.ready, self.message)}

    def needs(self) -> Sequence[UserNeed]:
        return self.reported


def test_status_has_readyzs_verdict_and_reason_and_what_parts_report_by_urgency() -> None:
    views, part = StatusViews(Metrics(), HookMetrics(), lambda: 7.0), Part()
    starting = views.status()
    assert (starting.state, starting.reason, starting.needs) == ("not ready", "hooks: hooks are being loaded", [])
    part.ready, part.message = False, "dns: no route"
    part.reported = [
        UserNeed(Urgency.ADVICE, "purge", "old", "", ""),
        UserNeed(Urgency.FAILING, "addons", "dns", "no route", ""),
    ]
    views.add(part.conditions, part.needs)
    views.add(lambda: {"background": (False, "queue main failed")})
    views.add(lambda: {"replicas": (True, "the Deployment has 2 replicas")})
    shown = views.status()
    assert (shown.ready, shown.reason) == (False, "hooks: hooks are being loaded; addons; background")
    assert [need.kind for need in shown.needs] == ["background", "addons", "purge", "replicas"]
    assert shown.needs == views.needs()
    assert (shown.facts.started, shown.facts.modules, shown.facts.leads) == (7.0, None, None)


def test_rights_that_are_missing_need_the_user_although_readyz_is_ready() -> None:
    views = StatusViews(Metrics(), HookMetrics())
    views.add(lambda: {"rights": (True, "add to the role: {verbs: [list]}")})
    [need] = views.needs()
    assert (need.urgency, need.kind, str(need)) == (Urgency.FAILING, "rights", "add to the role: {verbs: [list]}")
    assert "hookrunner rbac" in need.action


def test_a_stop_is_shown_whatever_else_holds() -> None:
    views = StatusViews(Metrics(), HookMetrics())
    views.is_stopping = lambda: True
    assert (views.status().state, views.status().ready, views.status().reason) == ("stopping", False, "")


@pytest.mark.looptime
async def test_a_condition_has_its_state_since_it_came_not_since_a_request() -> None:
    now = asyncio.get_running_loop().time
    views, part = StatusViews(Metrics(), HookMetrics(), now), Part()
    views.add(part.conditions)
    looking = asyncio.create_task(views.watch_conditions())
    await asyncio.sleep(100)
    part.ready, changed = False, now()
    await asyncio.sleep(3600)
    looking.cancel()
    assert [condition.since - changed for condition in views.conditions() if condition.name == "addons"] == [
        pytest.approx(2.5, abs=2.51)
    ]
