"""Flags of upstream's cloud controller manager that have no meaning here: `hookrunner cloud start` accepts each, with a
warning, so that its command line can be taken over as it is.

Source: https://kubernetes.io/docs/reference/command-line-tools-reference/cloud-controller-manager/
"""

from hookrunner.options import TEXT, YES_NO, Option

_SERVING = "metrics and probes are served over HTTP; see --listen-address and --listen-port."
_REVIEWS = "there are no webhooks of the cloud."
_LOG = "see --log-level and --log-type."
_METRICS = "all metrics are shown."
_FEATURES = "there are no feature gates and no other versions to imitate."
_WORKERS = "all Nodes are asked about in one call."
_ALLOCATION = "Pod networks are allocated by kube-controller-manager."
_CLIENT = "see --kube-client-qps for reading and --object-patcher-kube-client-qps for writing."
_MIGRATION = "nothing migrates from in-tree controllers."
_PROFILE = "there is no profile to serve."

_TEXTS = {
    _SERVING: """authentication-kubeconfig authentication-token-webhook-cache-ttl authorization-always-allow-paths
        authorization-kubeconfig authorization-webhook-cache-authorized-ttl
        authorization-webhook-cache-unauthorized-ttl bind-address cert-dir client-ca-file
        http2-max-streams-per-connection requestheader-allowed-names requestheader-client-ca-file
        requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers
        requestheader-username-headers secure-port tls-cert-file tls-cipher-suites tls-curve-preferences
        tls-min-version tls-private-key-file tls-sni-cert-key""",
    _REVIEWS: """webhooks webhook-bind-address webhook-cert-dir webhook-secure-port webhook-tls-cert-file
        webhook-tls-cipher-suites webhook-tls-min-version webhook-tls-private-key-file webhook-tls-sni-cert-key""",
    _LOG: """log-backtrace-at log-dir log-file log-file-max-size log-flush-frequency log-json-info-buffer-size
        log-text-info-buffer-size logging-format stderrthreshold v vmodule""",
    _METRICS: "allow-metric-labels allow-metric-labels-manifest disabled-metrics show-hidden-metrics-for-version",
    _FEATURES: "emulated-version feature-gates min-compatibility-version",
    _WORKERS: """cloud-node-lifecycle-monitor-nodes-workers concurrent-node-status-updates concurrent-node-syncs
        node-sync-period""",
    _ALLOCATION: "cidr-allocator-type",
    _CLIENT: "kube-api-burst kube-api-content-type kube-api-qps",
    _MIGRATION: "leader-migration-config",
    "a lease is the only kind of lock.": "leader-elect-resource-lock",
    "loops start at once.": "controller-start-interval",
    "watches report every change; see --load-balancer-resync-period.": "min-resync-period",
    "name the server in a kubeconfig.": "master",
    "volumes are the matter of CSI drivers.": "external-cloud-volume-plugin",
}
_SWITCHES = {
    _SERVING: """authentication-skip-lookup authentication-tolerate-lookup-failure disable-http2-serving
        permit-address-sharing permit-port-sharing""",
    _LOG: """add-dir-header alsologtostderr log-json-split-stream log-text-split-stream logtostderr one-output
        skip-headers skip-log-headers""",
    _FEATURES: "emulation-forward-compatible",
    _ALLOCATION: "allocate-node-cidrs",
    _MIGRATION: "enable-leader-migration",
    _PROFILE: "contention-profiling profiling",
    "one ServiceAccount does it all, with the rights that `hookrunner cloud rbac` shows.": (
        "use-service-account-credentials"
    ),
    "the provider knows its machines by itself.": "allow-untagged-cloud",
}

UPSTREAM_FLAGS = tuple(
    sorted(
        (
            Option(flag, kind, "", f"Ignored: {why}")
            for kind, table in ((TEXT, _TEXTS), (YES_NO, _SWITCHES))
            for why, flags in table.items()
            for flag in flags.split()
        ),
        key=lambda option: option.flag,
    )
)
