"""The state of the cloud controller manager as plain values, as `hookrunner cloud status` shows it.

The room of the cloud makes them, `web` renders them; making one changes nothing. Times are epoch seconds, 0 for never.
No value holds what a provider was given in its environment.
"""

from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProviderDump:
    """The provider: its name once it has said it, what it offers, until when the cloud wants a pause, and why it does
    not answer."""

    path: str
    name: str = ""
    interfaces: tuple[str, ...] = ()
    paused_until: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class CallDump:
    """A call of the provider that has ended. `code` is that of its error, or OK."""

    verb: str
    began: float
    seconds: float
    code: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class CloudNodeDump:
    """A Node. `state`: initialized, uninitialized, skipped or foreign; `reason` why it is not initialised."""

    name: str
    state: str
    provider_id: str = ""
    since: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DeletionDump:
    """A Node whose machine is said to be gone, how often in a row, and what holds its deletion. `held`: too many are
    gone at once, and `cloud release` lets it go."""

    node: str
    confirmations: int
    needed: int
    held: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CloudServiceDump:
    """A Service that is looked after. `state`: synced, pending, failed, invalid or elsewhere; `again` when it is tried
    again."""

    namespace: str
    name: str
    state: str
    ingress: tuple[str, ...] = ()
    reason: str = ""
    again: float = 0.0


@dataclass(frozen=True, slots=True)
class OrphanDump:
    """A load balancer of the cloud without a Service of this UID."""

    name: str
    service: str
    uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class CloudDump:
    """Everything. `leader` is the lease's holder, empty if it is not known; `loops` maps the loops that run to what
    holds them up, empty if nothing does."""

    provider: ProviderDump
    leads: bool
    leader: str
    loops: tuple[tuple[str, str], ...] = ()
    nodes: tuple[CloudNodeDump, ...] = ()
    deletions: tuple[DeletionDump, ...] = ()
    services: tuple[CloudServiceDump, ...] = ()
    calls: tuple[CallDump, ...] = ()
