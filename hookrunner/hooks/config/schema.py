"""What a hook may answer to `--config`: one table per object, and the keys that only one kind of hook has.

A key that is missing here is refused. Ours alone are `schedule[].timezone`,
`kubernetes[].{synchronizeEachObject,optional}`,
`settings.{timeout,combine,onFailure,maxAttempts,onDryRun,onReviewPatches,fork,permissions,resident,queues}` and
`kubernetesMutating[].reinvocationPolicy`. What a table cannot say is checked in `rules.py`,
`selectors.py` and, for v0, `hook_config.py`.
"""

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from hookrunner.model.bindings import BindingType
from hookrunner.model.modules import GLOBAL
from hookrunner.model.rights import VERBS
from hookrunner.shapes import ANY_VALUE, FLAG, INTEGER, TEXT, TEXTS, Integer, Many, Shape, Table, Text
from kubetypes.json_values import JSON

NAMES = Many(TEXT)

LABEL_SELECTOR = Table(
    {
        "matchLabels": TEXTS,
        "matchExpressions": Many(
            Table(
                {
                    "key": TEXT,
                    "operator": Text(("In", "NotIn", "Exists", "DoesNotExist")),
                    "values": Many(TEXT, at_least=0),
                },
                required={"key": "app", "operator": "In"},
            ),
            at_least=0,
        ),
    },
    at_least=1,
)

FIELD_SELECTOR = Table(
    {
        "matchExpressions": Many(
            Table(
                {"field": TEXT, "operator": Text(("=", "==", "Equals", "!=", "NotEquals")), "value": TEXT},
                required={"field": "status.phase", "operator": "Equals", "value": "Running"},
            ),
            at_least=0,
        )
    },
    required={"matchExpressions": "[{field: status.phase, operator: Equals, value: Running}]"},
)

NAME_SELECTOR = Table({"matchNames": Many(TEXT, at_least=0)}, required={"matchNames": "[default]"})

PERMISSION = Table(
    {
        "apiGroups": Many(TEXT),
        "resources": Many(TEXT),
        "verbs": Many(Text(VERBS)),
        "resourceNames": Many(TEXT),
        "nonResourceURLs": Many(TEXT),
        "namespaces": Many(TEXT),
    },
    required={"verbs": "[get, patch]"},
)

SETTINGS = Table(
    {
        "executionMinInterval": TEXT,
        "executionBurst": Integer(low=0),
        "timeout": TEXT,
        "combine": FLAG,
        "onFailure": Text(("retry", "park")),
        "maxAttempts": Integer(low=0),
        "onDryRun": Text(("run", "skip")),
        "onReviewPatches": Text(("apply", "refuse")),
        "fork": FLAG,
        "permissions": Many(PERMISSION, at_least=0),
        "resident": ANY_VALUE,
        "queues": ANY_VALUE,
    }
)

QUEUE = Table(
    {"concurrency": Integer(low=1, high=1000), "orderBy": Text(("binding", "object", "namespace"))},
    at_least=1,
)
"""The rules of one queue in `settings.queues`, which is a mapping of names to these."""

RESIDENT = Table(
    {
        "workers": Integer(low=1, high=64),
        "idle": TEXT,
        "maxRuns": Integer(low=1),
        "maxMemory": TEXT,
        "fallback": FLAG,
        "maxLine": TEXT,
    }
)
"""The settings of a resident hook, which may also be just `true`."""

SCHEDULE = Table(
    {
        "name": TEXT,
        "crontab": TEXT,
        "timezone": TEXT,
        "allowFailure": FLAG,
        "queue": TEXT,
        "group": TEXT,
        "includeSnapshotsFrom": NAMES,
    },
    required={"crontab": '"*/10 * * * *"'},
)

CHANGES = Many(Text(("Added", "Modified", "Deleted")), at_least=0)

KUBERNETES = Table(
    {
        "name": TEXT,
        "kind": TEXT,
        "apiVersion": TEXT,
        "executeHookOnEvent": CHANGES,
        "watchEvent": CHANGES,
        "executeHookOnSynchronization": FLAG,
        "waitForSynchronization": FLAG,
        "synchronizeEachObject": FLAG,
        "optional": FLAG,
        "keepFullObjectsInMemory": FLAG,
        "jqFilter": TEXT,
        "nameSelector": NAME_SELECTOR,
        "labelSelector": LABEL_SELECTOR,
        "fieldSelector": FIELD_SELECTOR,
        "namespace": Table({"nameSelector": NAME_SELECTOR, "labelSelector": LABEL_SELECTOR}, at_least=1),
        "allowFailure": FLAG,
        "resynchronizationPeriod": TEXT,
        "queue": TEXT,
        "group": TEXT,
        "includeSnapshotsFrom": NAMES,
    },
    required={"kind": "Pod"},
)

RULE = Table(
    {
        "apiGroups": NAMES,
        "apiVersions": NAMES,
        "resources": NAMES,
        "operations": Many(Text(("CREATE", "UPDATE", "DELETE", "CONNECT", "*"))),
        "scope": Text(("Cluster", "Namespaced", "*")),
    },
    required={"apiGroups": '["apps"]', "apiVersions": '["v1"]', "resources": '["deployments"]', "operations": '["*"]'},
)

ADMISSION: dict[str, Shape] = {
    "name": TEXT,
    "rules": Many(RULE),
    "failurePolicy": Text(("Ignore", "Fail")),
    "sideEffects": Text(("None", "NoneOnDryRun")),
    "timeoutSeconds": Integer(low=1, high=30),
    "matchConditions": Many(
        Table(
            {"name": TEXT, "expression": TEXT},
            required={"name": "not-a-lease", "expression": "\"object.kind != 'Lease'\""},
            open=True,
        ),
        at_least=0,
    ),
    "labelSelector": LABEL_SELECTOR,
    "namespace": Table({"labelSelector": LABEL_SELECTOR}, required={"labelSelector": "{matchLabels: {team: a}}"}),
    "group": TEXT,
    "includeSnapshotsFrom": NAMES,
}
ADMISSION_NAME = {"name": "policy.example.com"}
VALIDATING = Table(ADMISSION, ADMISSION_NAME)
MUTATING = Table(ADMISSION | {"reinvocationPolicy": Text(("Never", "IfNeeded"))}, ADMISSION_NAME)

CONVERSION = Table(
    {
        "name": TEXT,
        "crdName": TEXT,
        "conversions": Many(
            Table({"fromVersion": TEXT, "toVersion": TEXT}, required={"fromVersion": "v1alpha1", "toVersion": "v1"})
        ),
        "group": TEXT,
        "includeSnapshotsFrom": NAMES,
    },
    required={
        "name": "up",
        "crdName": "crontabs.stable.example.com",
        "conversions": "[{fromVersion: v1alpha1, toVersion: v1}]",
    },
)

V1 = Table(
    {
        "configVersion": Text(("v1",)),
        "settings": SETTINGS,
        "onStartup": INTEGER,
        "schedule": Many(SCHEDULE),
        "kubernetes": Many(KUBERNETES),
        "kubernetesValidating": Many(VALIDATING),
        "kubernetesMutating": Many(MUTATING),
        "kubernetesCustomResourceConversion": Many(CONVERSION),
    },
    required={"configVersion": "v1"},
    at_least=2,
)

V0 = Table(
    {
        "onStartup": INTEGER,
        "schedule": Many(Table({"name": TEXT, "crontab": TEXT, "allowFailure": FLAG}, open=True), at_least=0),
        "onKubernetesEvent": Many(
            Table(
                {
                    "name": TEXT,
                    "kind": TEXT,
                    "event": Many(TEXT, at_least=0),
                    "selector": Table(
                        {
                            "matchLabels": TEXTS,
                            "matchExpressions": Many(
                                Table({"key": TEXT, "operator": TEXT, "values": Many(TEXT, at_least=0)}, open=True),
                                at_least=0,
                            ),
                        },
                        open=True,
                    ),
                    "objectName": TEXT,
                    "namespaceSelector": Table({"matchNames": Many(TEXT, at_least=0), "any": FLAG}, open=True),
                    "jqFilter": TEXT,
                    "allowFailure": FLAG,
                },
                open=True,
            ),
            at_least=0,
        ),
    },
    at_least=1,
)


class HookKind(Enum):
    """Where a hook was found. The value is for error messages about a binding that a hook cannot have.

    All kinds have the same bindings but the lifecycle ones; webhooks too, which addon-operator accepts and never calls.
    Hooks of addons answer none: each would answer for all instances at once, which belong to different users.
    """

    PLAIN = "hooks without values, in the --hooks-dir"
    GLOBAL = "global hooks, in the --global-hooks-dir"
    MODULE = "hooks of a module, in its hooks directory"
    ADDON = "hooks of an addon, in its hooks directory"

    @classmethod
    def of(cls, module: str, of_addon: bool = False) -> "HookKind":
        """The kind of a hook of this module or, with `of_addon`, of this addon (`Hook.module`)."""
        if of_addon:
            return cls.ADDON
        return cls.GLOBAL if module == GLOBAL else cls.MODULE if module else cls.PLAIN


_KINDS = {
    BindingType.BEFORE_ALL: HookKind.GLOBAL,
    BindingType.AFTER_ALL: HookKind.GLOBAL,
    BindingType.BEFORE_HELM: HookKind.MODULE,
    BindingType.AFTER_HELM: HookKind.MODULE,
    BindingType.BEFORE_DELETE_HELM: HookKind.MODULE,
    BindingType.AFTER_DELETE_HELM: HookKind.MODULE,
}
_LIKE = {HookKind.ADDON: HookKind.MODULE}
"""Kinds with the lifecycle bindings of another one."""
_WEBHOOKS = ("kubernetesValidating", "kubernetesMutating", "kubernetesCustomResourceConversion")
_ORDER = Integer(low=0)


def _table(base: Table, kind: HookKind) -> Table:
    like = _LIKE.get(kind, kind)
    own = {key.value: _ORDER for key, owner in _KINDS.items() if owner is like}
    others = {key.value: f"only {owner.value}, can have it" for key, owner in _KINDS.items() if owner is not like}
    keys = {**base.keys, **own}
    if kind is HookKind.ADDON:
        others |= {key: "hooks of addons answer no webhooks; write a module for it" for key in _WEBHOOKS}
        keys = {key: shape for key, shape in keys.items() if key not in _WEBHOOKS}
    return replace(base, keys=keys, elsewhere=others)


V0_OF = {kind: _table(V0, kind) for kind in HookKind}
V1_OF = {kind: _table(V1, kind) for kind in HookKind}


def lifecycle(raw: JSON) -> Mapping[BindingType, int]:
    """The numbers of the lifecycle bindings in a configuration without problems."""
    return {key: int(raw[key]) for key in _KINDS if key in raw}
