"""The values of modules and instances as their hooks see them; patches of the ConfigMap are tested in tests/flows.

Level: pure."""

import asyncio

import pytest

from hookrunner.convergence.decisions.config_object import ConfigObject, Contents
from hookrunner.convergence.decisions.hook_values import HookValues
from hookrunner.errors import Conflict
from hookrunner.model.addon_status import HookCondition
from hookrunner.model.hook_runs import InstanceInput
from hookrunner.model.operations import Answer, ValuesOperation
from hookrunner.values.section_store import SectionStore
from hookrunner.waits import Notifier
from tests.convergence.planners import INSTANCE, FakeSubject
from tests.convergence.site import NO_SCHEMAS

DNS = INSTANCE.name
CONDITION = HookCondition("ConflictsWith", "True", "Cilium")
LASTING = Answer(config=(ValuesOperation("add", "/myModule/x", 1),))


class NoConfig(ConfigObject):
    """It is empty."""

    def __init__(self) -> None:
        self.writing = asyncio.Lock()


class BusyConfig(NoConfig):
    """Another client writes it every few milliseconds, until a time."""

    def __init__(self, until: float) -> None:
        super().__init__()
        self.contents, self.adopted = Contents(), Notifier()
        self._until = until

    async def write(self, key: str, text: str) -> Contents:
        if asyncio.get_running_loop().time() < self._until:
            asyncio.get_running_loop().call_later(0.005, self.adopted.notify)
            raise Conflict(409, "Conflict", "the object has been modified")
        self.contents = Contents({key: text})
        return self.contents


def values(config: ConfigObject | None = None) -> HookValues:
    """Those of one module and of one instance."""
    store = SectionStore({}, {"myModule": NO_SCHEMAS})
    store.add(DNS, "dns", NO_SCHEMAS)
    return HookValues(store, config or NoConfig(), {"my-module": "myModule"})


def test_hook_of_an_instance_is_given_what_its_subject_says() -> None:
    known = values()
    known.add(DNS, FakeSubject())
    assert known.files(DNS).instance == InstanceInput(b"{}")
    assert known.files("my-module").instance is None


def test_report_reaches_the_subject_of_its_unit_until_that_is_gone() -> None:
    known, subject = values(), FakeSubject()
    known.add(DNS, subject)
    known.report(DNS, "a.sh", (CONDITION,))
    known.report("my-module", "b.sh", (CONDITION,))
    assert subject.reports == {"a.sh": (CONDITION,)}
    known.remove(DNS)
    known.report(DNS, "a.sh", ())
    assert subject.reports == {"a.sh": (CONDITION,)}
    assert known.files(DNS).instance is None


async def test_patch_of_an_instance_stays_in_its_own_section() -> None:
    known = values()
    assert await known.keep(DNS, Answer(values=(ValuesOperation("add", "/dns/x", 1),)))
    assert b'"x":1' in known.files(DNS).values
    assert b'"x":1' not in known.files("my-module").values


@pytest.mark.looptime
async def test_lasting_patch_outlives_a_client_that_writes_all_the_time_for_seconds() -> None:
    busy = BusyConfig(until=3.0)
    assert await values(busy).keep("my-module", LASTING)
    assert busy.contents.data == {"myModule": "x: 1\n"}


@pytest.mark.looptime
async def test_lasting_patch_fails_if_another_client_never_stops_to_write() -> None:
    with pytest.raises(Conflict, match="has been modified"):
        await values(BusyConfig(until=3600.0)).keep("my-module", LASTING)
    assert asyncio.get_running_loop().time() < 10
