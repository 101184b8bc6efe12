"""The rights that the cloud controller manager needs, by what is on: the one table that `hookrunner cloud rbac`, the
chart of the module and docs/cloud.md share.

    rights = rights_of(settings)            # of the rows that apply
    objects = to_roles(ROLE, rights, account)

The finalizer of a Service is written through `services/status`, as upstream's manager does, so that `services` need no
`patch`. Creating a Lease cannot be limited to one name.
Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
"""

from dataclasses import replace

from hookrunner.model.rights import READS, Reason, Right, merge
from hookrunner.settings import Settings
from hookrunner.settings.cloud_option_types import LIFECYCLE, NODE, ROUTE, SERVICE
from kubetypes.light_dataclasses import dataclass

ROLE = "hookrunner-cloud"
"""The name of the objects, unless another is given."""
_MANAGER = "cloud controller manager"


@dataclass(frozen=True, slots=True)
class CloudRight:
    """A row of the table. `loops`: one of them must be on, empty means always. `in_namespace` makes it a right in the
    namespace of the lease alone, `named` on the lease alone."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str
    loops: frozenset[str] = frozenset()
    when: str = ""
    named: bool = False
    in_namespace: bool = False


_DELETES, _ELECTS = "deletions", "election"
_LEASES = "coordination.k8s.io"

RIGHTS = (
    CloudRight("", "nodes", READS, "Nodes, which every loop follows"),
    CloudRight("", "nodes", ("patch",), "labels, taints and provider IDs of Nodes", frozenset({NODE, LIFECYCLE})),
    CloudRight("", "nodes", ("delete",), "Nodes without a machine", frozenset({LIFECYCLE}), when=_DELETES),
    CloudRight("", "nodes/status", ("patch",), "addresses and conditions of Nodes", frozenset({NODE, ROUTE})),
    CloudRight("", "services", ("list", "watch"), "Services with load balancers", frozenset({SERVICE})),
    CloudRight("", "services/status", ("patch",), "addresses and finalizers of Services", frozenset({SERVICE})),
    CloudRight("", "events", ("create", "patch"), "Events"),
    CloudRight(_LEASES, "leases", ("create",), "the lease", when=_ELECTS, in_namespace=True),
    CloudRight(_LEASES, "leases", ("get", "update"), "the lease", when=_ELECTS, named=True, in_namespace=True),
)


def rights_of(settings: Settings) -> tuple[Right, ...]:
    """The rights of the rows that apply, merged."""
    loops = active_loops(settings)
    on = {
        "",
        *([] if settings.cloud_nodes.dry_run else [_DELETES]),
        *([_ELECTS] if settings.leader_election.on else []),
    }
    rows = [row for row in RIGHTS if row.when in on and (not row.loops or row.loops & loops)]
    return merge(_to_right(row, settings) for row in rows)


def _to_right(row: CloudRight, settings: Settings) -> Right:
    lease = settings.leader_election
    right = Right((row.group,), (row.resource,), row.verbs, needs=(Reason(_MANAGER, row.why),))
    if not row.in_namespace:
        return right
    return replace(right, names=(lease.name,) if row.named else (), namespace=lease.namespace)


def active_loops(settings: Settings) -> frozenset[str]:
    """The loops that may run, if the provider has what they need. There are no routes without networks of Pods."""
    cloud = settings.cloud
    return cloud.loops if cloud.cidrs and cloud.routes is not False else cloud.loops - {ROUTE}
