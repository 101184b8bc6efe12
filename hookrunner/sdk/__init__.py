"""For authors of hooks in Python: functions with what they are for, one file for all ways of being run.

    #!/usr/bin/env python3
    from hookrunner.sdk import After, Hook

    hook = Hook()

    @hook.reconcile("v1/Namespace", label_selector="team")
    def label(namespace, cluster):                  # as it is now; None when it does not exist any more
        if namespace:
            cluster.merge(namespace, {"metadata": {"labels": {"seen": "yes"}}})
        return After(minutes=10)                    # look at it again; None: when it changes

    hook.run()

A function gets what its parameters name: `cluster`, `snapshots`, `values`, `config_values`, `metrics`, `log`,
`progress`, `event`, `context`, `instance`, `conditions`, `task`. The first one that is none of these is what the
function is about: an object, or an event or a review of one. If it is annotated with a type, it is made of the object:
pydantic's `model_validate`, a dataclass with the names of fields, or any callable. Functions may be `async`. Keywords
are the keys of a hook's configuration in snake case (docs/hooks.md), with shorter words for the most common ones.

An exception makes the run fail; of `HookFailed` the log has the message only. What is printed is the log.

Standard library only, Python 3.9 or newer: an image without hookrunner may have a copy of this directory. More:
docs/sdk.md.
"""

from .answers import After, Cancelled, Cluster, Conditions, Deny, HookFailed, Metrics, Values, ref
from .hook import Hook
from .subjects import Event, Log, Review, Snapshot
from .tasks import Task

__all__ = [
    "After",
    "Cancelled",
    "Cluster",
    "Conditions",
    "Deny",
    "Event",
    "Hook",
    "HookFailed",
    "Log",
    "Metrics",
    "Review",
    "Snapshot",
    "Task",
    "Values",
    "ref",
]
