"""The settings of the rooms that every start needs: hooks, cluster, engine, web, log; and of the sandbox. Each group
goes to its room."""

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, get_args

from hookrunner.options import (
    COUNT,
    COUNT_FROM_1,
    DURATION,
    ENDPOINT,
    MAYBE_PATH,
    MODULES,
    NO_DIRECTORY,
    NUMBER,
    PATH,
    PATH_OR_NONE,
    PATHS,
    PORT,
    TEXT,
    TOKEN,
    UNLESS_NO,
    YES_NO,
    one_of,
    setting,
)
from kubetypes.light_dataclasses import dataclass

BARE = ("{}",)
SHELL = ("SHELL_OPERATOR_{}",)
TWINS = ("ADDON_OPERATOR_{}", *SHELL)
"""Forms of the predecessors' variables."""

LogType = Literal["text", "json", "color", "plain"]
LogLevel = Literal["trace", "debug", "info", "warn", "error", "fatal"]


def four_for_each_cpu(_environ: Mapping[str, str]) -> str:
    """The default number of concurrent tasks that mostly wait for processes and for the API server."""
    return str(4 * (os.cpu_count() or 1))


DEFAULT_HOOKS_DIR = "HOOKRUNNER_DEFAULT_HOOKS_DIR"
"""The variable by which an image names its hooks. It is a default: each flag and each variable of a predecessor that
names hooks outranks it, which `HOOKRUNNER_HOOKS_DIR` would not allow."""


def _own_tmp_dir(_environ: Mapping[str, str]) -> str:
    return f"{tempfile.gettempdir()}/hookrunner-{os.getuid()}"


def _stop_or_warn(environ: Mapping[str, str]) -> str:
    """In a pod there are no other users but those that its author lets in; images with hooks of 0777 are common."""
    return "warn" if "KUBERNETES_SERVICE_HOST" in environ else "stop"


def _debug_sockets(environ: Mapping[str, str]) -> str:
    runtime = environ.get("XDG_RUNTIME_DIR")
    places = ["/var/run/hookrunner", *([f"{runtime}/hookrunner"] if runtime else []), _own_tmp_dir(environ)]
    return ",".join(f"{directory}/debug.socket" for directory in places)


@dataclass(frozen=True, slots=True)
class HooksSettings:
    """Which hooks there are and how they are called. Without a `directory` there are no hooks but those of modules and
    addons. `environ` is what every hook process inherits. `default` says that no flag and no variable named the
    directory, `optional` that it may be missing, since there is something else to run. `run_directory` is that of the
    process for files of runs, in place of `tmp_dir` itself."""

    directory: Path | None = setting(
        "hooks-dir",
        PATH_OR_NONE,
        "hooks",
        f"Directory of hooks; `{NO_DIRECTORY}` means none. The default with --addons-dir, --modules-dir or "
        f"--cloud-provider is none, except with --sandbox or --compat; {DEFAULT_HOOKS_DIR} of an image overrides it.",
        SHELL,
        found=lambda environ: environ.get(DEFAULT_HOOKS_DIR) or "hooks",
    )
    on_bad: Literal["stop", "skip"] = setting(
        "on-bad-hook",
        one_of("stop", "skip"),
        "stop",
        "What to do about a hook whose `--config` fails or is invalid: refuse to start, or leave it out.",
    )
    config_timeout: float = setting(
        "config-timeout", DURATION, "30s", "How long one `--config` call may take; 0 is no limit."
    )
    tmp_dir: Path = setting(
        "tmp-dir",
        PATH,
        "<system temp>/hookrunner-<uid>",
        "Directory for the files of runs; created if missing.",
        TWINS,
        compat=("/tmp/shell-operator", "/tmp/addon-operator"),
        found=_own_tmp_dir,
    )
    keep_tmp_files: bool = setting(
        "debug-keep-tmp-files", YES_NO, "false", "Leave the files of every run where they are.", BARE
    )
    proxy_json: bool = setting(
        "log-proxy-hook-json", YES_NO, "false", "Pass JSON that hooks print on as log records.", BARE
    )
    on_writable: Literal["stop", "warn"] = setting(
        "on-writable-hook",
        one_of("stop", "warn"),
        "stop, in a pod warn",
        "What to do about hooks and modules that every user of the machine may write to: refuse to start, or warn.",
        found=_stop_or_warn,
    )
    python_fork: bool = setting(
        "python-fork",
        YES_NO,
        "true",
        "Run Python hooks in forks of an interpreter that has imported what they import; `false`: start one for each "
        "run. A hook's `settings: {fork: false}` is for that hook alone.",
    )
    python_fork_packages: tuple[str, ...] = setting(
        "python-fork-packages",
        MODULES,
        "",
        "Packages beside the standard library that this interpreter may import, if hooks begin with importing them.",
    )
    python_fork_idle: float = setting(
        "python-fork-idle", DURATION, "5m", "Time without a run after which it ends; 0 is never."
    )
    default: bool = False
    optional: bool = False
    environ: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    run_directory: Path | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class KubeSettings:
    """How to reach the cluster and how to watch it. A rate or burst of 0 is no limit. `derived` is where a kubeconfig
    is written that has the named context as its current one, for processes that we start. `text` is what is in
    `config` if we wrote it ourselves: we never read that file again, since its path may come to lead elsewhere."""

    config: Path | None = setting(
        "kube-config",
        MAYBE_PATH,
        "",
        "Path of a kubeconfig, for hooks too. Without it: `KUBECONFIG`, then `~/.kube/config`, then the pod's "
        "service account.",
        BARE,
    )
    context: str = setting(
        "kube-context", TEXT, "", "Context of the kubeconfig, if not its current one; for hooks too.", BARE
    )
    namespace: str = setting("namespace", TEXT, "", "The namespace that the program itself runs in.", TWINS)
    watch_idle_timeout: float = setting(
        "watch-idle-timeout", DURATION, "75s", "Silence after which a watch is resumed where it stopped."
    )
    qps: float = setting("kube-client-qps", NUMBER, "0", "Requests a second for reading; 0 is no limit.", BARE)
    burst: int = setting("kube-client-burst", COUNT, "0", "Requests for reading at once.", BARE)
    patch_qps: float = setting(
        "object-patcher-kube-client-qps", NUMBER, "0", "Requests a second for changing objects; 0 is no limit.", BARE
    )
    patch_burst: int = setting(
        "object-patcher-kube-client-burst", COUNT, "0", "Requests for changing objects at once.", BARE
    )
    patch_timeout: float = setting(
        "object-patcher-kube-client-timeout", DURATION, "10s", "How long one change of an object may take.", BARE
    )
    log_requests: bool = setting(
        "debug-kubernetes-api", YES_NO, "false", "Log every request to the Kubernetes API.", BARE
    )
    derived: Path | None = None
    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How tasks wait and how the process ends. `replicated` says that several replicas are asked for, which would each
    run all hooks."""

    compaction_threshold: int = setting(
        "queue-compaction-threshold", COUNT, "100", "Length from which a queue's waiting tasks are merged."
    )
    shutdown_grace: float = setting(
        "shutdown-grace", DURATION, "25s", "How long running hooks may go on after SIGTERM or Ctrl-C."
    )
    replicated: bool = setting(
        "ha",
        YES_NO,
        "false",
        "No leader is elected for hooks and modules: run one replica. With true the log and `/readyz` warn.",
        ("ADDON_OPERATOR_HA",),
    )


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Where others can ask. The debug socket is made at the first of `debug_sockets` that can be made."""

    address: str = setting(
        "listen-address",
        TEXT,
        "0.0.0.0",
        "Address of `/metrics`, `/healthz` and `/readyz`. With --sandbox 127.0.0.1 unless it is given.",
        TWINS,
        also=("prometheus-listen-address",),
    )
    port: int = setting(
        "listen-port",
        PORT,
        "9115",
        "Port of `/metrics`, `/healthz` and `/readyz`.",
        TWINS,
        compat=("9115", "9650"),
        also=("prometheus-listen-port",),
    )
    connections: int = setting(
        "listen-connections",
        COUNT_FROM_1,
        "128",
        "Open connections to that port; one more closes the one that has been idle for longest.",
    )
    metrics_prefix: str = setting(
        "prometheus-metrics-prefix",
        TEXT,
        "hookrunner_",
        "Prefix of the names of hookrunner's own metrics.",
        TWINS,
        compat=("shell_operator_", "addon_operator_"),
    )
    queue_actions: bool = setting(
        "queue-actions-metrics", UNLESS_NO, "true", "Export how long operations on queues take.", BARE
    )
    hook_metric_samples: int = setting(
        "hook-metric-samples",
        COUNT_FROM_1,
        "10000",
        "How many samples (lines at `/metrics/hooks`) one metric of hooks may have; more are refused, with a "
        "line in the log. One with more than 512 characters of labels counts for more.",
    )
    hook_metrics_samples: int = setting(
        "hook-metrics-samples", COUNT_FROM_1, "100000", "The same for all metrics of hooks together."
    )
    debug_sockets: tuple[Path, ...] = setting(
        "debug-unix-socket",
        PATHS,
        "/var/run/hookrunner/debug.socket, or in $XDG_RUNTIME_DIR/hookrunner, or in <system temp>/hookrunner-<uid>",
        "Unix socket of the debug commands; of several the first that can be made.",
        BARE,
        compat=tuple(
            f"/var/run/{name}/debug.socket,/tmp/{name}/debug.socket" for name in ("shell-operator", "addon-operator")
        ),
        found=_debug_sockets,
    )
    debug_address: tuple[str, int] | None = setting(
        "debug-http-addr",
        ENDPOINT,
        "",
        "Serve the debug endpoint over TCP too, to all who reach it but web pages of others; with --config-secret "
        "it shows no values there.",
        ("DEBUG_HTTP_SERVER_ADDR",),
    )


@dataclass(frozen=True, slots=True)
class LogSettings:
    """How the program writes its own log."""

    level: LogLevel = setting(
        "log-level", one_of(*get_args(LogLevel)), "info", "The least important records that are logged.", BARE
    )
    type: LogType = setting(
        "log-type",
        one_of(*get_args(LogType)),
        "color on a terminal, else json",
        "How log records are written; `color` and `plain` are for eyes.",
        BARE,
        compat=("json", "json"),
        found=lambda _environ: "color" if sys.stdout.isatty() else "json",
    )


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """What the sandbox begins with and where it listens."""

    enabled: bool = setting(
        "sandbox", YES_NO, "false", "Run on an embedded Kubernetes API in this process, no cluster needed."
    )
    address: str = setting(
        "sandbox-address",
        TEXT,
        "127.0.0.1",
        "Sandbox: address to listen on. One that is not loopback needs TLS and a token.",
    )
    port: int = setting("sandbox-port", PORT, "0", "Sandbox: port; 0 takes a free one.")
    kubeconfig: Path | None = setting(
        "sandbox-kubeconfig",
        MAYBE_PATH,
        "",
        "Sandbox: where the kubeconfig for it is written; without it `sandbox.kubeconfig` in the `--tmp-dir`.",
    )
    token: str | None = setting(
        "sandbox-token",
        TOKEN,
        "random",
        "Sandbox: a bearer token that every request must carry; its kubeconfig has it. `none` lets every user of "
        "this machine in.",
    )
    """None: a random one for each start; "": none."""
    certificate: Path | None = setting(
        "sandbox-tls-cert", MAYBE_PATH, "", "Sandbox: certificate to serve HTTPS with; clients trust it."
    )
    key: Path | None = setting("sandbox-tls-key", MAYBE_PATH, "", "Sandbox: the key of that certificate.")
    seed: tuple[Path, ...] = setting(
        "seed", PATHS, "", "Sandbox: manifests that are there from the beginning; files or directories."
    )
    data: Path | None = setting("data", MAYBE_PATH, "", "Sandbox: a file in which all objects survive a restart.")
    simulate: bool = setting(
        "simulate", YES_NO, "false", "Sandbox: Pods run and become Ready, workloads make progress."
    )
