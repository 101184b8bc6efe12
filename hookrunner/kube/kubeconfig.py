"""Program that finds out how to reach a cluster and prints it as one line of JSON, then ends.

    python -P kubeconfig.py <kubeconfig or ""> <context or ""> <directory for temporary files>

It runs as a child of hookrunner and is the only file that imports the `kubernetes` package, which costs 0.25 s and 44
MB and knows every way to authenticate: tokens, certificates, exec plugins, auth providers, in-cluster service accounts.
It imports nothing of ours, so that the child starts fast. The package writes keys into temporary files; they land in
the given directory, which the parent removes even if this process is killed.

The line is `{"error": …}` or the fields of `credentials.Connection`.
"""

# mypy: disallow-untyped-calls=False
# (the package ships types, but not for its configuration classes)
import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

from kubernetes.client import Configuration
from kubernetes.config import KUBE_CONFIG_DEFAULT_LOCATION, ConfigException
from kubernetes.config.incluster_config import InClusterConfigLoader
from kubernetes.config.kube_config import ENV_KUBECONFIG_PATH_SEPARATOR, KubeConfigLoader, KubeConfigMerger
from requests.utils import should_bypass_proxies
from yaml import YAMLError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_BROKEN = (ConfigException, YAMLError, OSError, ValueError, TypeError, AttributeError, KeyError)
"""What the package raises for a file that is not as it should be; it checks little by itself."""


def main(explicit: str, context: str, directory: str) -> None:
    """Print the answer; never raises for what a user can do wrong."""
    tempfile.tempdir = directory
    try:
        answer = located(explicit, context)
    except ConfigException as error:
        answer = {"error": str(error)}
    print(json.dumps(answer))


def located(explicit: str, context: str) -> dict[str, Any]:
    """Kubeconfig first; the service account only if no file was named explicitly (shell-operator.md §12)."""
    paths = explicit or KUBE_CONFIG_DEFAULT_LOCATION or "~/.kube/config"
    try:
        return from_file(paths, context)
    except _BROKEN as error:
        problem = str(error) or type(error).__name__
    if not explicit:
        try:
            return in_cluster(SERVICE_ACCOUNT)
        except ConfigException as error:
            problem += f"; and not in a pod either: {error}"
    raise ConfigException(f"kubeconfig '{paths}'{f', context {context!r}' if context else ''}: {problem}")


def from_file(paths: str, context: str) -> dict[str, Any]:
    """The connection that a context of one or more kubeconfig files describes."""
    if not any(Path(path).expanduser().is_file() for path in paths.split(ENV_KUBECONFIG_PATH_SEPARATOR)):
        raise ConfigException("no such file: name one with --kube-config or KUBECONFIG")
    complaints = _Complaints()
    logging.getLogger().addHandler(complaints)
    merger = KubeConfigMerger(paths)
    loader = KubeConfigLoader(merger.config, context or None, None, None, merger.save_changes)
    configuration = Configuration()
    loader.load_and_set(configuration)
    if complaints.lines:
        raise ConfigException("; ".join(complaints.lines))
    chosen = loader.current_context
    expiry = vars(loader).get("expiry")
    return _described(configuration) | {
        "origin": f"kubeconfig '{paths}', context '{chosen['name']}'",
        "namespace": chosen["context"].get("namespace", ""),
        "token_file": _token_file(merger.config, chosen["context"].get("user")),
        "expires": expiry.timestamp() if expiry else None,
    }


def in_cluster(directory: Path) -> dict[str, Any]:
    """The connection of a pod's service account, whose token, CA and namespace are files in `directory`."""
    token, namespace = directory / "token", directory / "namespace"
    configuration = Configuration()
    InClusterConfigLoader(str(token), str(directory / "ca.crt")).load_and_set(configuration)
    return _described(configuration) | {
        "origin": "service account of this pod",
        "in_pod": True,
        "namespace": namespace.read_text("utf-8").strip() if namespace.is_file() else "",
        "token_file": str(token),
    }


def _described(configuration: Any) -> dict[str, Any]:
    direct = should_bypass_proxies(configuration.host, configuration.no_proxy or "")
    return {
        "server": configuration.host,
        "ca": _text(configuration.ssl_ca_cert),
        "cert": _text(configuration.cert_file),
        "key": _text(configuration.key_file),
        "authorization": configuration.api_key.get("BearerToken", "").strip(),
        "proxy": (not direct and configuration.proxy) or "",
        "tls_server_name": configuration.tls_server_name or "",
        "insecure": not configuration.verify_ssl,
    }


def _text(path: str | None) -> str:
    return Path(path).read_text("utf-8") if path else ""


def _token_file(config: Any, user: str | None) -> str:
    """A user's `tokenFile`, relative to the file that names it. A literal `token` wins, as in the package."""
    node = config["users"].get_with_name(user, safe=True) if user else None
    if node is None or node["user"].safe_get("token") or not node["user"].safe_get("tokenFile"):
        return ""
    return str(Path(node.path).absolute().parent / node["user"]["tokenFile"])


class _Complaints(logging.Handler):
    """The package only logs that an exec plugin failed and then goes on without credentials."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


if __name__ == "__main__":
    main(*sys.argv[1:])
