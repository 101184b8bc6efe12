"""What the API refuses of a built-in object, with every cause. Metadata is looked at in `builtin.metadata`.

Each module has its kinds in `CHECKS`: stored name → a function that yields causes of an object as it is created or,
with `old`, updated. Objects come decoded and with defaults.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kubesandbox.builtin.validation import (
    cluster,
    config,
    endpoints,
    jobs,
    network,
    policy,
    rbac,
    services,
    storage,
    webhooks,
    workloads,
)
from kubesandbox.builtin.validation.templates import pods
from kubesandbox.kinds import Kind
from kubesandbox.status import Cause

Object = dict[str, Any]
Check = Callable[[Object, Object | None], Iterable[Cause]]

CHECKS: dict[str, Check] = {
    **pods.CHECKS,
    **workloads.CHECKS,
    **jobs.CHECKS,
    **services.CHECKS,
    **endpoints.CHECKS,
    **network.CHECKS,
    **config.CHECKS,
    **cluster.CHECKS,
    **storage.CHECKS,
    **rbac.CHECKS,
    **policy.CHECKS,
    **webhooks.CHECKS,
}


def problems(kind: Kind, obj: Object, old: Object | None) -> Iterator[Cause]:
    """Every cause, in the API's order; with `old`, also what may not change."""
    if check := CHECKS.get(kind.stored):
        yield from check(obj, old)
