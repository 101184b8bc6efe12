"""The settings of the cloud controller manager: its provider, which loops run, and what each may do.

Names, meanings and defaults are those of upstream's cloud controller manager wherever it has them; where ours differ,
`--compat upstream` brings its own back. In a sandbox, where no Node is older than the process, a Node goes at once.
Without --cloud-provider there are no loops.
"""

from pathlib import Path

from hookrunner.options import COUNT, COUNT_FROM_1, DURATION, MAYBE_PATH, PATH, TEXT, YES_NO, setting
from hookrunner.settings.cloud_option_types import (
    CALL_TIMEOUT,
    CIDRS,
    CLASS,
    CONTROLLERS,
    MAYBE,
    OBJECT_NAME,
    PERIOD,
    SHARE,
    SOME_TEXT,
    VARIABLES,
    Cidr,
)
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """Which provider there is, how it is called, which loops run, and how often. Durations are seconds.

    `provider` is a path, or a name in `providers_directory`; without it there are no loops. `routes` is None if it
    follows from `cidrs`. `loops` has upstream's long names.
    """

    provider: str = setting(
        "cloud-provider", TEXT, "", "Cloud: the provider, a path or a name in --providers-dir. Without it none."
    )
    providers_directory: Path = setting(
        "providers-dir", PATH, "providers", "Cloud: directory of providers that are given by name."
    )
    config: Path | None = setting(
        "cloud-config", MAYBE_PATH, "", "Cloud: a file for the provider, which finds its path in CLOUD_CONFIG."
    )
    environment: tuple[str, ...] = setting(
        "cloud-env", VARIABLES, "", "Cloud: variables that the provider gets besides PATH, HOME and their like."
    )
    call_timeout: float = setting(
        "provider-timeout", CALL_TIMEOUT, "60s", "Cloud: how long a call may take, unless the provider sets it."
    )
    loops: frozenset[str] = setting("controllers", CONTROLLERS, "*", "Cloud: which loops run.")
    cluster_name: str = setting("cluster-name", SOME_TEXT, "kubernetes", "Cloud: the cluster's name, for the provider.")
    cidrs: tuple[Cidr, ...] = setting(
        "cluster-cidr", CIDRS, "", "Cloud: networks of Pods; the route loop deletes no route outside of them."
    )
    routes: bool | None = setting(
        "configure-cloud-routes",
        MAYBE,
        "",
        "Cloud: whether routes are made; without it they are if --cluster-cidr is given.",
        upstream="true",
    )
    route_period: float = setting(
        "route-reconciliation-period", PERIOD, "60s", "Cloud: how often routes are compared.", upstream="10s"
    )
    address_period: float = setting(
        "node-status-update-frequency", PERIOD, "5m", "Cloud: how often addresses of Nodes are compared."
    )
    monitor_period: float = setting(
        "node-monitor-period",
        PERIOD,
        "10s",
        "Cloud: how often the cloud is asked about Nodes that are not ready.",
        upstream="5s",
        sandbox="1s",
    )
    service_workers: int = setting(
        "concurrent-service-syncs", COUNT_FROM_1, "4", "Cloud: how many Services are reconciled at once.", upstream="1"
    )
    load_balancer_class: str = setting("load-balancer-class", CLASS, "", "Cloud: reconcile Services of this class.")
    unclassed_services: bool = setting(
        "unclassed-services", YES_NO, "true", "Cloud: reconcile Services without a class."
    )
    load_balancer_resync: float = setting(
        "load-balancer-resync-period", DURATION, "0", "Cloud: how often all are ensured again; 0 is never."
    )
    keep_foreign_condition: bool = setting(
        "route-keep-foreign-condition",
        YES_NO,
        "false",
        "Cloud: leave NetworkUnavailable=False of others on Nodes alone.",
    )

    @property
    def on(self) -> bool:
        """Is there a provider?"""
        return bool(self.provider)


@dataclass(frozen=True, slots=True)
class CloudNodeSettings:
    """What is written to Nodes, and what has to hold before one is deleted. Durations are seconds."""

    require_addresses: bool = setting(
        "node-require-addresses", YES_NO, "false", "Cloud: keep the taint while the cloud gives no address."
    )
    sync_labels: bool = setting(
        "node-labels-sync", YES_NO, "false", "Cloud: correct labels of the cloud with the addresses."
    )
    beta_labels: bool = setting(
        "node-beta-labels", YES_NO, "true", "Cloud: write the beta labels of zone, region and type too."
    )
    out_of_service: bool = setting(
        "node-out-of-service-taint", YES_NO, "false", "Cloud: taint shut down Nodes so that their volumes move."
    )
    confirmations: int = setting(
        "node-delete-confirmations",
        COUNT_FROM_1,
        "3",
        "Cloud: `notFound` answers in a row before a Node is deleted.",
        upstream="1",
    )
    min_age: float = setting(
        "node-delete-min-age", DURATION, "5m", "Cloud: younger Nodes are not deleted.", upstream="0s", sandbox="0s"
    )
    max_per_pass: int = setting(
        "node-delete-max-per-pass", COUNT, "1", "Cloud: Nodes deleted in one pass; 0 is any number.", upstream="0"
    )
    max_ratio: float = setting(
        "node-delete-max-ratio",
        SHARE,
        "0.2",
        "Cloud: share of Nodes whose machines may vanish at once; over it none is deleted, until `cloud release`.",
        upstream="1",
    )
    dry_run: bool = setting(
        "node-delete-dry-run", YES_NO, "false", "Cloud: report which Node would be deleted, and keep it."
    )


@dataclass(frozen=True, slots=True)
class LeaderElectionSettings:
    """Whether and how one of several replicas is chosen. Durations are seconds. The lease is upstream's, so that it
    and an upstream manager never act at once."""

    on: bool = setting("leader-elect", YES_NO, "true", "Cloud: act only while holding the lease.")
    lease_duration: float = setting(
        "leader-elect-lease-duration", PERIOD, "15s", "Cloud: how long a lease lasts without being renewed."
    )
    renew_deadline: float = setting(
        "leader-elect-renew-deadline", PERIOD, "10s", "Cloud: how long a leader tries to renew."
    )
    retry_period: float = setting(
        "leader-elect-retry-period", PERIOD, "2s", "Cloud: pause between attempts to get or renew the lease."
    )
    name: str = setting(
        "leader-elect-resource-name", OBJECT_NAME, "cloud-controller-manager", "Cloud: name of the lease."
    )
    namespace: str = setting(
        "leader-elect-resource-namespace", OBJECT_NAME, "kube-system", "Cloud: namespace of the lease."
    )
