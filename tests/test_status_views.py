"""What the HTTP servers show while the program starts."""

from hookrunner.metrics.hooks import HookMetrics
from hookrunner.metrics.names import Metrics
from hookrunner.model.status import ConvergeDump
from hookrunner.status_views import StatusViews


def test_before_hooks_are_loaded_nothing_is_ready_and_every_view_is_empty() -> None:
    views = StatusViews(Metrics(), HookMetrics())
    [condition] = views.conditions()
    assert (condition.name, condition.ready, condition.message) == ("hooks", False, "hooks are being loaded")
    assert (views.queues(), views.hooks(), views.snapshots("a"), views.modules()) == ([], [], None, None)
    assert views.converge() == ConvergeDump()
