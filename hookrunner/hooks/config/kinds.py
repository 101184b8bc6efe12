"""The three kinds of hook, and the lifecycle bindings that only one of them has (addon-operator.md §3.1, §4.1).

Everything else is the same for all, webhooks too, which addon-operator accepts and never calls.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from hookrunner.hooks.config.schema import V0, V1
from hookrunner.hooks.shapes import Integer, Table
from hookrunner.model.bindings import BindingType
from hookrunner.model.resources import JSON
from hookrunner.model.values import GLOBAL


class HookKind(Enum):
    """Where a hook was found. The value says so to whoever wrote a binding that it cannot have."""

    PLAIN = "hooks without values, in the --hooks-dir"
    GLOBAL = "global hooks, in the --global-hooks-dir"
    MODULE = "hooks of a module, in its hooks directory"

    @classmethod
    def of(cls, module: str) -> "HookKind":
        """The kind of a hook of this module (`Hook.module`)."""
        return cls.GLOBAL if module == GLOBAL else cls.MODULE if module else cls.PLAIN


_KINDS = {
    BindingType.BEFORE_ALL: HookKind.GLOBAL,
    BindingType.AFTER_ALL: HookKind.GLOBAL,
    BindingType.BEFORE_HELM: HookKind.MODULE,
    BindingType.AFTER_HELM: HookKind.MODULE,
    BindingType.BEFORE_DELETE_HELM: HookKind.MODULE,
    BindingType.AFTER_DELETE_HELM: HookKind.MODULE,
}
_ORDER = Integer(low=0)


def _table(base: Table, kind: HookKind) -> Table:
    own = {key.value: _ORDER for key, owner in _KINDS.items() if owner is kind}
    others = {key.value: f"only {owner.value}, can have it" for key, owner in _KINDS.items() if owner is not kind}
    return replace(base, keys={**base.keys, **own}, elsewhere=others)


V0_OF = {kind: _table(V0, kind) for kind in HookKind}
V1_OF = {kind: _table(V1, kind) for kind in HookKind}


def lifecycle(raw: JSON) -> Mapping[BindingType, int]:
    """The numbers of the lifecycle bindings in a configuration without problems."""
    return {key: int(raw[key]) for key in _KINDS if key in raw}
