"""The values of modules as their hooks see and change them: the store, and the ConfigMap for patches that should last.

Patches of one process are written one after another. What another client has written to the ConfigMap meanwhile is read
and patched, never overwritten.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from hookrunner.convergence.decisions.config_object import ConfigObject
from hookrunner.errors import Conflict
from hookrunner.model.addon_status import HookCondition
from hookrunner.model.hook_runs import InstanceInput, Values
from hookrunner.model.modules import GLOBAL
from hookrunner.model.operations import Answer, ValuesOperation
from hookrunner.values import config_sections, patches
from hookrunner.values.section_store import SectionStore
from hookrunner.waits import Notifier, Pauses

_ATTEMPTS = 10
_WATCH_DELAY = 5.0
"""Seconds in which the watch reports what another client has written."""
_PAUSES = Pauses(0.02, 2.0)
"""Seconds between two attempts, doubled each time: another client may write faster than we do, but not for long."""


class HookSubject(Protocol):
    """What the hooks of a unit are about."""

    def give(self) -> InstanceInput:
        """What they are given besides values, at this moment."""

    def report(self, hook: str, conditions: Sequence[HookCondition]) -> None:
        """A hook has run and reports these conditions, in place of those that it reported before."""


class HookValues:
    """The engine's `ValuesStore`. `keys` maps modules to their sections; instances of addons are not among them.
    `flags` are what global hooks say about `<module>Enabled`; `flagged` wakes those that wait for a change of them."""

    def __init__(self, store: SectionStore, config_map: ConfigObject, keys: Mapping[str, str]) -> None:
        self.flags: dict[str, bool] = {}
        self.flagged = Notifier()
        self._store = store
        self._config_map = config_map
        self._keys = {**keys, GLOBAL: GLOBAL}
        self._subjects: dict[str, HookSubject] = {}

    @property
    def unread(self) -> str:
        """Why the values are not known; empty if they are."""
        return self._store.unread

    def add(self, unit: str, subject: HookSubject) -> None:
        """The hooks of this unit are about this subject."""
        self._subjects[unit] = subject

    def remove(self, unit: str) -> None:
        """The unit does not exist any more, and none of its hooks runs."""
        self._subjects.pop(unit, None)

    def files(self, module: str) -> Values:
        """The two documents for a hook of this module, as bytes, and the instance for a hook of an addon."""
        subject = self._subjects.get(module)
        return Values(*self._store.files(self._section(module)), subject.give() if subject else None)

    def report(self, module: str, hook: str, conditions: Sequence[HookCondition]) -> None:
        """A hook reports conditions of the subject of its unit."""
        if subject := self._subjects.get(module):
            subject.report(hook, conditions)

    async def keep(self, module: str, answer: Answer) -> bool:
        """Apply an answer's patches, the lasting one first; have the values changed? Raises BadValues, KubeError."""
        key = self._section(module)
        before = self._store.effective(key)
        self._store.permit(key, (*answer.config, *answer.values))
        if lasting := patches.values_operations(answer.config):
            await self._write(key, lasting)
        if passing := patches.values_operations(answer.values):
            self._store.patch(key, passing)
        if module == GLOBAL:
            self._set_flags((*answer.config, *answer.values))
        return bool(self._store.effective(key) != before)

    def _section(self, module: str) -> str:
        """Where its values are; those of an instance under the unit's name."""
        return self._keys.get(module, module)

    async def _write(self, key: str, operations: tuple[ValuesOperation, ...]) -> None:
        """Write the section. If another client has changed the ConfigMap, write again when that is adopted, each time
        after a longer pause. Raises Conflict after ten attempts."""
        for attempt in range(_ATTEMPTS - 1):
            with suppress(Conflict):
                await self._write_once(key, operations)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(_WATCH_DELAY):
                    await self._config_map.adopted.next()
            await asyncio.sleep(_PAUSES.after(attempt + 1))
        await self._write_once(key, operations)

    async def _write_once(self, key: str, operations: tuple[ValuesOperation, ...]) -> None:
        """Raises Conflict if another client has changed the ConfigMap since it was adopted."""
        async with self._config_map.writing:
            section = self._store.patched_config(key, operations)
            if section is not None:
                await self._config_map.write(key, await config_sections.write_section(section))
                self._store.keep_config(key, section)

    def _set_flags(self, operations: tuple[ValuesOperation, ...]) -> None:
        """Remember which modules the hook turns on or off."""
        before = dict(self.flags)
        for key, enabled in patches.enabled_operations(operations):
            if enabled is None:
                self.flags.pop(key, None)
            else:
                self.flags[key] = enabled
        if self.flags != before:
            self.flagged.notify()
