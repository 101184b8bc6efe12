"""All values, with one owner: every change is checked before it is kept, and a refused change has no effect.

No method awaits, so a change is seen whole or not at all. Reading is cheap: documents are computed when a layer
changes, not when they are read. They are shared: never change what a method has returned. Where the rules differ from
addon-operator's, docs/differences.md says so.
"""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import replace
from typing import NamedTuple

import orjson

from hookrunner import log
from hookrunner.errors import BadValues, internal
from hookrunner.model.modules import GLOBAL
from hookrunner.model.operations import ValuesOperation
from hookrunner.values import patches
from hookrunner.values.config_sections import Config
from hookrunner.values.section import NO_SCHEMAS, LayerSchemas, Origin, Section, origins
from kubetypes import json_values
from kubetypes.json_values import JSON, written
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)


class ValuesJson(NamedTuple):
    """The JSON behind `CONFIG_VALUES_PATH` and `VALUES_PATH`."""

    config: bytes
    values: bytes


@dataclass(frozen=True, slots=True)
class AdoptedConfig:
    """The result of a new config: the sections that it changes, and those whose new config is refused, each with the
    reason."""

    changed: frozenset[str]
    refused: Mapping[str, BadValues]


@dataclass(frozen=True, slots=True)
class LastRun:
    """The two sections that a module's hooks see: `global` and the module's own."""

    shared: Section
    own: Section

    def refreshed(self, now: Section) -> "LastRun":
        """The same with what hooks have patched in memory until now."""
        return self if self.own.patches is now.patches else self.with_own(replace(self.own, patches=now.patches))

    def with_own(self, own: Section) -> "LastRun":
        """The same with another section of the module."""
        return replace(self, own=own.computed())


class LastRuns:
    """The values with which modules last ran, by the modules' keys.

    A module that will be deleted keeps them until its deletion has ended (`held`): its hooks clean up after the values
    that they know, although the user may have removed these in the same edit that turns the module off."""

    def __init__(self) -> None:
        self.held: dict[str, LastRun] = {}
        self._ran: dict[str, LastRun] = {}

    def begin(self, key: str, run: LastRun) -> None:
        """Note that the module runs with these values now."""
        self._ran[key] = run
        self.held.pop(key, None)

    def hold(self, key: str, now: Section) -> None:
        """Hold the module's values until it is deleted. Values of a run in an earlier process are not known here."""
        if key not in self.held and (run := self._ran.get(key)):
            self.held[key] = run.refreshed(now)

    def hold_recorded(self, values: JSON, shared: Section, own: Section) -> None:
        """The same for a module that an earlier process ran. `values` are those of its release, by section; the two
        sections, `global` and its own, are as they are now."""
        self.held[own.id] = LastRun(_recorded(shared, values), _recorded(own, values))

    def forget(self, key: str) -> None:
        """Drop what is known of the module, because its deletion has ended."""
        self._ran.pop(key, None)
        self.held.pop(key, None)


class SectionStore:
    """The values of `global`, of all modules by key, and of instances of addons by unit. An unknown key, one that
    neither `static` nor `schemas` has, is a KeyError, except in a config, which may name modules that do not exist.
    `unread` is why the config of the cluster could not be read yet; empty once it was."""

    def __init__(self, static: Mapping[str, JSON], schemas: Mapping[str, LayerSchemas]) -> None:
        self.unread = ""
        self._sections = {
            key: Section(key, static.get(key) or {}, schemas.get(key, NO_SCHEMAS)).computed()
            for key in sorted({GLOBAL, *static, *schemas})
        }
        self._refused: Mapping[str, BadValues] = {}
        self._last_runs = LastRuns()
        self._enabled: tuple[str, ...] | None = None
        self._global = self._global_for_hooks(self._sections[GLOBAL])

    def note_unread(self, reason: str) -> None:
        """Note why the config could not be read; empty once it was."""
        self.unread = reason

    def add(self, unit: str, key: str, schemas: LayerSchemas) -> None:
        """Add the section of an instance, which is called `key` in documents, and empty until `describe`."""
        self._sections[unit] = Section(key, {}, schemas, unit=unit).computed()

    def describe(self, unit: str, static: JSON, spec: JSON) -> bool:
        """Set an instance's layers: what its addon says, and what its user has set; is anything new? Raises BadValues
        if the schema refuses the latter; then nothing has changed."""
        section = self._sections[unit].configured(spec, None, True)
        if not json_values.equal(static, section.static):
            section = replace(section, static=static).computed()
        return self._keep(section)

    def set_static(self, key: str, static: JSON) -> bool:
        """Set the lowest layer of a section; is anything new?"""
        section = self._sections[key]
        if json_values.equal(static, section.static):
            return False
        return self._keep(replace(section, static=static).computed())

    def remove(self, unit: str) -> None:
        """Remove the section of an instance, and all that is held for it."""
        self._last_runs.forget(unit)
        del self._sections[unit]

    def config(self, key: str) -> JSON:
        """What the user has set, None if the config does not name the section."""
        return self._sections[key].config

    def effective(self, key: str) -> JSON:
        """The section after all layers."""
        return self._sections[key].effective

    def document(self, key: str) -> JSON:
        """`{"global": …, key: …}` for templates and `enabled` scripts. Without `global.enabledModules`:
        otherwise a module that is switched would change the release of every other."""
        return {GLOBAL: self.effective(GLOBAL), self._sections[key].key: self.effective(key)}

    def config_document(self, key: str) -> JSON:
        """The same for what the user has set."""
        return {GLOBAL: self.config(GLOBAL), self._sections[key].key: self.config(key)}

    def files(self, key: str) -> ValuesJson:
        """The files of a hook of the section, `global.enabledModules` included. Hooks of a module that will be deleted
        get the values with which it last ran."""
        held = self._last_runs.held.get(key)
        shared, own = (held.shared, held.own) if held else (self._sections[GLOBAL], self._sections[key])
        values = b'{"global":' + (self._global_for_hooks(shared) if held else self._global)
        if key != GLOBAL:
            values += b"," + orjson.dumps(own.key) + b":" + own.encoded
        config = {GLOBAL: shared.config, own.key: own.config}
        return ValuesJson(written(config, orjson.OPT_SORT_KEYS), values + b"}")

    def patches(self, key: str) -> JSON:
        """What hooks have patched in memory, as dumps show it."""
        operations = self._shown(key).patches.operations()
        return [{"Operations": [patches.document_of(operation) for operation in operations]}] if operations else []

    def explain(self, key: str) -> list[Origin]:
        """Which layer has set each value of the section, by JSON pointer."""
        return origins(self._shown(key))

    def enabled_modules(self, names: Collection[str]) -> None:
        """Set `global.enabledModules` for hooks, whatever the schema of `global` allows."""
        self._enabled = tuple(names)
        self._global = self._global_for_hooks(self._sections[GLOBAL])

    def adopt(self, config: Config, secret: Config | None, validated: Set[str]) -> AdoptedConfig:
        """Adopt what a user has written, section by section. A section is checked if it is `global` or one of
        `validated`; if it is refused, the section stays unchanged."""
        changed: set[str] = set()
        refused: dict[str, BadValues] = {}
        for key, section in self._sections.items():
            if section.unit:
                continue
            try:
                new = _configured(section, config, secret or Config(), key in validated)
                is_new = not json_values.equal(new.config or {}, section.config or {})
            except BadValues as error:
                refused[key] = error
            except Exception as error:
                # Raised, it would end the watch, also after a restart: any editor of the ConfigMap could stop us.
                _log.exception("a section cannot be checked, please report this", section=key)
                refused[key] = BadValues(key, [f"cannot be checked: {internal(error)}; please report it"])
            else:
                changed |= {key} if is_new else set()
                self._keep(new)
        self._refused = refused
        return AdoptedConfig(frozenset(changed), refused)

    def patched_config(self, key: str, operations: Iterable[ValuesOperation]) -> JSON:
        """The ConfigMap's section after a hook's patch, None if it need not be written. Only `keep_config` keeps it.
        Raises BadValues, also while an edit of the user is refused: the patch would overwrite it."""
        asked = self._own(key, operations)
        if held := self._last_runs.held.get(key):
            return self._patched_config_of(held, asked)
        return self._patched_plain(key, asked)

    def _patched_config_of(self, held: LastRun, asked: tuple[ValuesOperation, ...]) -> JSON:
        """The same for a module that will be deleted. Its hooks see a config that may have been removed, and their
        patch must fit that config. What does not fit the present ConfigMap is not written: the deletion would never
        end."""
        key = held.own.id
        if (wanted := held.own.patched_plain(asked)) is not None:
            own = replace(held.own, plain=wanted)
            self._last_runs.held[key] = held.with_own(own)
        try:
            return self._patched_plain(key, asked)
        except BadValues as error:
            _log.warn("a hook's patch is not written, because its module will be deleted", section=key, error=error)
            return None

    def _patched_plain(self, key: str, asked: tuple[ValuesOperation, ...]) -> JSON:
        if asked and key in self._refused:
            raise BadValues(key, ["a patch would overwrite an edit that was refused", *self._refused[key].problems])
        return self._sections[key].patched_plain(asked)

    def keep_config(self, key: str, section: JSON) -> bool:
        """Adopt what has been written into the ConfigMap; was it new?"""
        old = self._sections[key]
        return self._keep(old.configured(section, old.secret, False))

    def patch(self, key: str, operations: Iterable[ValuesOperation]) -> bool:
        """Apply a hook's patch in memory, on the present values; did it change anything? Raises BadValues."""
        asked = self._own(key, operations)
        if held := self._last_runs.held.get(key):
            own = held.own.patched(asked)
            self._last_runs.held[key] = replace(held, own=own)
            return own is not held.own
        return self._keep(self._sections[key].patched(asked))

    def begin_run(self, key: str) -> None:
        """Note that the module runs with the present values: its held values are dropped, except for what hooks have
        patched in memory meanwhile."""
        if held := self._last_runs.held.get(key):
            self._keep(replace(self._sections[key], patches=held.own.patches).computed())
        self._last_runs.begin(key, LastRun(self._sections[GLOBAL], self._sections[key]))

    def hold(self, key: str) -> None:
        """Hold the values of a module that will be deleted: until `forget`, its hooks see the values with which it last
        ran. If that was in an earlier process, see `hold_recorded`."""
        self._last_runs.hold(key, self._sections[key])

    def is_held(self, key: str) -> bool:
        """Do the module's hooks see the values with which it last ran?"""
        return key in self._last_runs.held

    def hold_recorded(self, key: str, values: JSON) -> None:
        """The same with the values in the record of the module's release."""
        self._last_runs.hold_recorded(values, self._sections[GLOBAL], self._sections[key])

    def forget(self, key: str) -> None:
        """Drop what hooks have patched in memory and what was held for them, because the module's deletion has ended.
        The config stays."""
        self._last_runs.forget(key)
        self._keep(self._sections[key].unpatched())

    def permit(self, key: str, operations: Iterable[ValuesOperation]) -> None:
        """Raise BadValues if a hook of the section may not change these values."""
        self._sections[key].permit(operations)

    def for_helm(self, key: str) -> None:
        """Raise BadValues if the section is not valid for templates."""
        self._sections[key].check_for_helm()

    def _keep(self, section: Section) -> bool:
        """Keep the section; is anything of it new?"""
        old = self._sections[section.id]
        self._sections[section.id] = section
        for misfit in section.misfits:
            if misfit not in old.misfits:
                _log.warn("a hook's patch no longer fits the values", section=section.id, patch=misfit)
        if section.key == GLOBAL:
            self._global = self._global_for_hooks(section)
        return section is not old

    def _own(self, key: str, operations: Iterable[ValuesOperation]) -> tuple[ValuesOperation, ...]:
        """The operations on values, all of which must concern the section."""
        asked = tuple(operations)
        self._sections[key].permit(asked)
        return patches.values_operations(asked) if key == GLOBAL else asked

    def _shown(self, key: str) -> Section:
        """The section as the module's hooks see it."""
        held = self._last_runs.held.get(key)
        return held.own if held else self._sections[key]

    def _global_for_hooks(self, section: Section) -> bytes:
        if self._enabled is None:
            return section.encoded
        return written(section.effective | {"enabledModules": self._enabled}, orjson.OPT_SORT_KEYS)


def _configured(section: Section, config: Config, secret: Config, validated: bool) -> Section:
    problems = [
        f"{source}: {source_config.problems[section.key]}"
        for source, source_config in (("ConfigMap", config), ("Secret", secret))
        if section.key in source_config.problems
    ]
    if problems:
        raise BadValues(section.key, problems)
    plain, hidden = config.sections.get(section.key), secret.sections.get(section.key)
    return section.configured(plain, hidden, validated or section.key == GLOBAL)


def _recorded(now: Section, values: JSON) -> Section:
    """A section whose effective values are known, but not the layers that set them. Its config is that of now."""
    section = Section(now.key, values.get(now.key) or {}, NO_SCHEMAS, unit=now.unit).computed()
    return replace(section, plain=now.config, config=now.config)
