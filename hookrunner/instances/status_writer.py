"""Writes the status of instances: the first change at once, further ones in batches, and nothing that is there already.

    writer.report(addon, instance, facts)      # never waits, never fails
    await writer.post()                        # until cancelled

Statuses are applied under a field manager of their own, so that a field that is left out is removed, and fields of
other clients stay. An instance that is created again gets no status of its predecessor: the UID goes along, and the API
server refuses another one (https://kubernetes.io/docs/reference/using-api/server-side-apply/#uid). A definition of
someone else may lack the subresource; that is logged once, and Events go on.
"""

import asyncio
import time
from collections.abc import Mapping

from hookrunner import log
from hookrunner.addons.status_conditions import make_status
from hookrunner.addons.written_status import SHAPES
from hookrunner.errors import Conflict, KubeError, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.back_off import BLIP
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef, WriteOptions
from hookrunner.model.addon_status import OWN_CONDITIONS, InstanceFacts
from hookrunner.model.addons import Addon, Instance
from hookrunner.model.timestamps import rfc3339
from hookrunner.waits import Notifier, Pauses
from kubetypes import json_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

MANAGER = "hookrunner-status"
BATCH = 0.5
"""Seconds between two writes of one status."""
HEALTH_WITHIN = 1.0
"""Seconds that a status waits for the health of what was just installed, which is known soon: else there would be two
writes for each run."""

_PAUSES = Pauses(1.0, 60.0)
"""Seconds until a write that failed is repeated, doubled with each failure in a row."""
_AT_ONCE = 8
_OPTIONS = WriteOptions(manager=MANAGER, force=True, timeout=10.0)
_KEYS = frozenset({*SHAPES, "objects"})
_log = log.get(__name__)


@dataclass(eq=False, slots=True)
class _Report:
    """What one instance's status should say. Times are seconds of the loop's clock: `earliest` is when the next write
    may follow the last one, `held_until` how long its facts may stay incomplete. `present` is the status as it was
    written last, or, unless `is_written`, as the watch showed it."""

    addon: Addon
    instance: Instance
    facts: InstanceFacts
    present: JSON
    earliest: float = 0.0
    held_until: float = 0.0
    is_waiting: bool = True
    is_written: bool = False
    failures: int = 0

    @property
    def due(self) -> float:
        """When it may be written."""
        return max(self.earliest, self.held_until)

    def replace(self, instance: Instance, facts: InstanceFacts) -> None:
        """Say something else, of this object or of one that was created under its name."""
        if instance.uid != self.instance.uid:
            self.present, self.is_written, self.earliest, self.failures = instance.status, False, 0.0, 0
        self.instance, self.facts, self.is_waiting = instance, facts, True

    def hold(self, now: float) -> None:
        """Wait for the health of what is installed, counted from when that was installed."""
        self.held_until = (self.held_until or now + HEALTH_WITHIN) if self.facts.lacks_health else 0.0

    def begin(self, now: float) -> None:
        """It is about to be written; what is reported from now on is written later."""
        self.is_waiting, self.earliest, self.held_until = False, now + BATCH, 0.0

    def hurry(self) -> None:
        """What it could not be written for may be over."""
        if self.failures:
            self.earliest = 0.0

    def put_off(self, now: float) -> None:
        """It could not be written."""
        self.failures += 1
        self.earliest, self.is_waiting = now + _PAUSES.after(self.failures), True


class StatusWriter:
    """Writes the statuses of all instances."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reports: dict[str, _Report] = {}
        self._changed = Notifier()
        self._without_status: set[str] = set()
        self._refused = False

    def report(self, addon: Addon, instance: Instance, facts: InstanceFacts) -> None:
        """From now on these facts hold for an instance."""
        report = self._reports.get(instance.unit)
        if report:
            report.replace(instance, facts)
        elif addon.name not in self._without_status:
            report = self._reports[instance.unit] = _Report(addon, instance, facts, instance.status)
        if report:
            report.hold(asyncio.get_running_loop().time())
        self._changed.notify()

    def forget(self, unit: str) -> None:
        """The instance is gone, or left to its user: its status is not written any more."""
        self._reports.pop(unit, None)

    def status_of(self, unit: str) -> JSON:
        """The status of an instance as it was written last, None if none was reported."""
        report = self._reports.get(unit)
        return report.present if report else None

    async def post(self) -> None:
        """Write statuses until cancelled."""
        now = asyncio.get_running_loop().time
        while True:
            waiting = [report for report in self._reports.values() if report.is_waiting]
            if due := [report for report in waiting if report.due <= now()][:_AT_ONCE]:
                await asyncio.gather(*map(self._try_write, due))
                continue
            await self._changed.next(min((report.due for report in waiting), default=None))

    async def retry_after_outages(self) -> None:
        """Write at the end of an outage what could not be written in it, until cancelled."""
        async for seconds in self._client.outage.ends():
            if seconds >= BLIP:
                for report in self._reports.values():
                    report.hurry()
                self._changed.notify()

    async def _try_write(self, report: _Report) -> None:
        """Write one status. A fault that it causes must not keep others from being written."""
        try:
            await self._write(report)
        except Exception:
            report.put_off(asyncio.get_running_loop().time())
            _log.exception("status is not written: please report this", instance=report.instance.unit)

    async def _write(self, report: _Report) -> None:
        now = asyncio.get_running_loop().time
        instance, status = report.instance, make_status(report.facts, report.present, rfc3339(time.time()))
        present = report.present if report.is_written else _own_part(report.present, status)
        if json_values.equal(status, present):
            report.is_waiting, report.held_until = False, 0.0
            return
        report.begin(now())
        try:
            body = _body(report.addon, instance, status)
            await writes.apply(self._client, _ref(report.addon, instance), body, _OPTIONS)
        except Conflict:
            self._drop(report)  # another object has its name now
        except NotFound:
            await self._look_for_subresource(report)
        except KubeError as error:
            report.put_off(now())
            self._complain(report, error)
        else:
            self._refused = False
            report.present, report.is_written, report.failures = status, True, 0

    async def _look_for_subresource(self, report: _Report) -> None:
        """The object is gone, another has its name by now, or its kind has no status."""
        addon, instance = report.addon, report.instance
        try:
            ref = _ref(addon, instance)
            live = await writes.read_metadata(self._client, ObjectRef(ref.resource, ref.namespace, ref.name))
        except NotFound:
            self._drop(report)
        except KubeError:
            report.put_off(asyncio.get_running_loop().time())
        else:
            if live["uid"] != instance.uid:
                self._drop(report)
                return
            self._without_status.add(addon.name)
            for unit in [unit for unit, other in self._reports.items() if other.addon.name == addon.name]:
                self.forget(unit)
            text = "the definition of the kind has no subresource status: Events only"
            _log.warn(text, addon=addon.name, definition=addon.object.crd_name)

    def _drop(self, report: _Report) -> None:
        if self._reports.get(report.instance.unit) is report and not report.is_waiting:
            self.forget(report.instance.unit)

    def _complain(self, report: _Report, error: KubeError) -> None:
        """Log that statuses cannot be written, once until one can."""
        rule = refusals.rbac_rule(report.addon.object.resource, ["patch"], "status")
        explained = refusals.explain_rights(error, "write statuses", rule)
        level = "debug" if self._refused else "warn"
        _log.log(level, "status cannot be written", instance=report.instance.unit, error=explained)
        self._refused = True


def _own_part(live: JSON, status: JSON) -> dict[str, JSON]:
    """What we have written of a status, as far as the new one shows: neither fields nor conditions of others."""
    fields: Mapping[str, JSON] = live if isinstance(live, dict) else {}
    own = {key: value for key, value in fields.items() if key in _KEYS}
    if isinstance(own.get("conditions"), list):
        types = OWN_CONDITIONS | {condition["type"] for condition in status["conditions"]}
        own["conditions"] = [condition for condition in own["conditions"] if condition.get("type") in types]
    return own


def _ref(addon: Addon, instance: Instance) -> ObjectRef:
    return ObjectRef(addon.object.resource, instance.namespace, instance.name, "status")


def _body(addon: Addon, instance: Instance, status: JSON) -> JSON:
    namespace = {"namespace": instance.namespace} if instance.namespace else {}
    metadata = {"name": instance.name, "uid": instance.uid} | namespace
    return {"apiVersion": addon.object.api_version, "kind": addon.object.kind, "metadata": metadata, "status": status}
