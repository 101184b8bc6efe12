"""What a hook may answer to `--config`: one table per object (shell-operator.md §2, §3).

A key that is missing here does not exist. Ours alone are `schedule[].timezone`,
`settings.{timeout,combine,onFailure,maxAttempts,onDryRun,onReviewPatches}` and
`kubernetesMutating[].reinvocationPolicy`. What a table cannot say is checked where the value is read: `v1.py`, `v0.py`,
`selectors.py`, `admission.py`.
"""

from hookrunner.hooks.shapes import FLAG, INTEGER, TEXT, TEXTS, Integer, Many, Shape, Table, Text

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
    }
)

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
