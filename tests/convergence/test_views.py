"""What the debug endpoint shows of any unit, where it is not what the unit's own rooms return. Level: pure."""

from typing import Any

from hookrunner.convergence.plan import Planners
from hookrunner.convergence.runs.release_reconciler import Helm, ReleaseReconciler
from hookrunner.convergence.unit_states import UnitStates
from hookrunner.convergence.views import ModuleViews, UnitViews, ViewSources
from hookrunner.metrics.names import Metrics
from hookrunner.model.releases import Head
from hookrunner.values.section_store import SectionStore
from tests.convergence.planners import INSTANCE, FakePlanner
from tests.convergence.site import module


class Histories:
    """The revisions of releases, by name and namespace."""

    async def read_history(self, name: str, namespace: str) -> tuple[Head, ...]:
        return (Head(name, namespace, 3, "deployed", version="1.0", note="pinned"),) if namespace == "home" else ()


def sources_of(states: UnitStates, releases: Any = None) -> ViewSources:
    unused: Any = None
    return ViewSources(states, SectionStore({}, {}), releases, unused, unused, unused, unused)


def test_an_instance_is_not_shown_as_a_module() -> None:
    """`module rollback` would write an instance that its user has suspended."""
    unused: Any = None
    states = UnitStates([module("dns", 10)])
    states.add(INSTANCE)
    views = ModuleViews(sources_of(states), unused)
    assert (views.knows("dns"), views.knows(INSTANCE.name), views.knows("web")) == (True, False, False)


async def test_revisions_have_their_versions() -> None:
    unused: Any = None
    records: Any = Histories()
    helm = Helm(unused, records, unused, unused, "home")
    releases = ReleaseReconciler(helm, Planners(FakePlanner()), Metrics(), 1)
    views = UnitViews(sources_of(UnitStates([module("dns", 10)]), releases))
    [shown] = await views.revisions("dns")
    assert (shown.revision, shown.version, shown.status, shown.note) == (3, "1.0", "deployed", "pinned")
