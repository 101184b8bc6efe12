"""Program that finds out how to reach a cluster and prints it as one line of JSON, then ends.

    python -P kubeconfig.py <kubeconfig or ""> <context or ""> <directory for temporary files> <file or ""> [stdin]

It runs as a child of hookrunner and is the only program that imports the `kubernetes` package, which costs 0.1 s and
30 MB (`kubeconfig_readers.py`) and knows every way to authenticate: tokens, certificates, exec plugins, auth providers,
in-cluster service accounts. Of hookrunner it imports only what bounds documents, so that the child starts fast. The
package writes keys into temporary files; they land in the given directory, which the parent removes even if this
process is killed.

Into the file goes one kubeconfig made of all that were read, with the context that was chosen as its current one: it is
for processes that hookrunner starts, and holds in every working directory.

With `stdin`, what is in the kubeconfig is read from standard input, and its path is only named: hookrunner wrote it,
and by now the path may lead elsewhere.

The line is `{"error": …}` or the fields of `credentials.Connection`.
"""

# mypy: disallow-untyped-calls=False
# (the package ships types, but not for its configuration classes)
import json
import logging
import os
import re
import secrets
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from hookrunner import safe_files
from hookrunner.kube.kubeconfig_readers import (
    ENV_KUBECONFIG_PATH_SEPARATOR,
    KUBE_CONFIG_DEFAULT_LOCATION,
    ConfigException,
    Configuration,
    InClusterConfigLoader,
    KubeConfigLoader,
    KubeConfigMerger,
)
from kubetypes.bounds import DIGITS, TOO_MANY_DIGITS, TooLarge
from kubetypes.foreign_pages import is_loopback
from kubetypes.yaml_values import events

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_NUMBER = re.compile("[-+0-9_:.]+")
_LARGEST = 16 << 20
"""Bytes of the one kubeconfig that is made of all. Aliases are written out in it."""

_BROKEN = (ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError)
"""Errors that the package raises for an invalid file; it checks little by itself."""

_STDIN = "/dev/stdin"

_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
"""Keys of a cluster or a user whose values are paths, relative to the file that they are in."""


def main(explicit: str, context: str, directory: str, derived: str, stdin: str = "") -> None:
    """Print the answer, also for every mistake that a user can make."""
    tempfile.tempdir = directory
    try:
        answer = from_text(explicit, context) if stdin else located(explicit, context, derived)
    except ConfigException as error:
        answer = {"error": str(error)}
    print(json.dumps(answer))


def located(explicit: str, context: str, derived: str = "") -> dict[str, Any]:
    """Kubeconfig first; the service account only if neither a file nor a context was named: a user
    who named one does not mean the pod's own cluster."""
    paths = explicit or KUBE_CONFIG_DEFAULT_LOCATION or "~/.kube/config"
    try:
        return from_file(paths, context, derived)
    except _BROKEN as error:
        problem = _words(error)
    if not explicit and not context:
        try:
            return in_cluster(SERVICE_ACCOUNT)
        except ConfigException as error:
            problem += f"; and not in a pod either: {error}"
    raise ConfigException(f"kubeconfig '{paths}'{f', context {context!r}' if context else ''}: {problem}")


def from_text(named: str, context: str) -> dict[str, Any]:
    """The connection of the kubeconfig on standard input, which is reported as the one at the path `named`."""
    try:
        return _connection(KubeConfigMerger(_STDIN), context, "", named)
    except _BROKEN as error:
        raise ConfigException(f"kubeconfig '{named}': {_words(error)}") from error


def _words(error: Exception) -> str:
    """The error for a person. PyYAML's own message may quote the text, which has tokens in it."""
    if isinstance(error, yaml.YAMLError):
        mark = getattr(error, "problem_mark", None)
        return f"not YAML: line {mark.line + 1}" if mark else "not YAML"
    return str(error) or type(error).__name__


def from_file(paths: str, context: str, derived: str) -> dict[str, Any]:
    """The connection that a context of one or more kubeconfig files describes."""
    if not any(safe_files.may_be_file(Path(path).expanduser()) for path in paths.split(ENV_KUBECONFIG_PATH_SEPARATOR)):
        raise ConfigException("no such file: name one with --kube-config or KUBECONFIG")
    for path in paths.split(ENV_KUBECONFIG_PATH_SEPARATOR):
        _check(Path(path).expanduser())
    return _connection(KubeConfigMerger(paths), context, derived, paths)


def _connection(merger: KubeConfigMerger, context: str, derived: str, paths: str) -> dict[str, Any]:
    complaints = _Complaints()
    logging.getLogger().addHandler(complaints)
    named = (content.get("current-context") for content in merger.config_files.values())
    context = context or str(next(filter(None, named), ""))  # the first, as for kubectl; the package takes the last
    loader = KubeConfigLoader(merger.config, context or None, None, None, merger.save_changes)
    configuration = Configuration()
    loader.load_and_set(configuration)
    if complaints.lines:
        raise ConfigException("; ".join(complaints.lines))
    if derived:
        _write(derived, merged(merger.config_files, context))
    chosen = loader.current_context
    expiry = vars(loader).get("expiry")
    return _described(configuration, "proxy" in vars(loader)) | {
        "origin": f"kubeconfig '{paths}', context '{chosen['name']}'",
        "context": chosen["name"],
        "user": chosen["context"].get("user", ""),
        "means": _means(merger.config, chosen["context"].get("user")),
        "namespace": chosen["context"].get("namespace", ""),
        "token_file": _token_file(merger.config, chosen["context"].get("user")),
        "expires": expiry.timestamp() if expiry else None,
    }


def _check(path: Path) -> None:
    """The package's own reader knows no bounds: it recurses, and computes numbers of any length. Raises TooLarge."""
    if safe_files.may_be_file(path):
        try:
            for event in events(path.read_bytes()):
                if isinstance(event, yaml.ScalarEvent) and len(event.value) > DIGITS and _NUMBER.fullmatch(event.value):
                    raise TooLarge(TOO_MANY_DIGITS)
        except TooLarge as error:
            raise TooLarge(f"{path}: {error}") from None
        except yaml.YAMLError:
            pass  # the package reports it


def merged(files: Mapping[str, Any], context: str) -> dict[str, Any]:
    """One kubeconfig of several, by path: of entries with one name the first counts, and paths are absolute."""
    config: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": context}
    for kind, part in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
        entries: dict[str, Any] = {}
        for path, content in files.items():
            directory = Path(path).absolute().parent
            for entry in content.get(kind) or []:
                entries.setdefault(entry["name"], {**entry, part: _absolute(entry.get(part) or {}, directory)})
        config[kind] = list(entries.values())
    return config


def in_cluster(directory: Path) -> dict[str, Any]:
    """The connection of a pod's service account, whose token, CA and namespace are files in `directory`."""
    token, namespace = directory / "token", directory / "namespace"
    configuration = Configuration()
    InClusterConfigLoader(str(token), str(directory / "ca.crt")).load_and_set(configuration)
    return _described(configuration) | {
        "origin": "service account of this pod",
        "in_pod": True,
        "means": "token file",
        "namespace": namespace.read_text("utf-8").strip() if safe_files.may_be_file(namespace) else "",
        "token_file": str(token),
    }


def _absolute(part: dict[str, Any], directory: Path) -> dict[str, Any]:
    """A cluster or a user with absolute paths, as kubectl reads relative ones."""
    absolute = part | {key: str(directory / part[key]) for key in _PATHS if part.get(key)}
    plugin = part.get("exec")
    if plugin and "/" in plugin["command"]:  # otherwise it is searched in PATH
        absolute["exec"] = plugin | {"command": str(directory / plugin["command"])}
    return absolute


def _write(path: str, config: Mapping[str, Any]) -> None:
    """Write the file atomically, readable for its owner only: a hook may read it at any time. As JSON, since Go's YAML
    reads as booleans what PyYAML writes without quotes (`n`). An unquoted time of an auth provider becomes a text."""
    draft = f"{path}.{secrets.token_hex(8)}"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.writelines(_pieces(config))
        os.replace(draft, path)
    finally:
        if os.path.lexists(draft):
            os.unlink(draft)


def _pieces(config: Mapping[str, Any]) -> Iterator[str]:
    """The text. Raises TooLarge."""
    size = 0
    for piece in json.JSONEncoder(default=str).iterencode(config):
        size += len(piece)
        if size > _LARGEST:
            raise TooLarge(f"more than {_LARGEST >> 20} MiB, aliases written out; make it smaller")
        yield piece


def _described(configuration: Any, named_proxy: bool = False) -> dict[str, Any]:
    return {
        "server": configuration.host,
        "ca": _text(configuration.ssl_ca_cert),
        "cert": _text(configuration.cert_file),
        "key": _text(configuration.key_file),
        "authorization": configuration.api_key.get("BearerToken", "").strip(),
        "proxy": _proxy(configuration, named_proxy),
        "tls_server_name": configuration.tls_server_name or "",
        "insecure": not configuration.verify_ssl,
    }


def _proxy(configuration: Any, named: bool) -> str:
    """The proxy to use, empty for none. One of the environment, not `named` by the kubeconfig, is not for servers on
    this machine, as in Go's clients: the sandbox is one."""
    if not configuration.proxy:
        return ""
    from requests.utils import should_bypass_proxies  # 30 ms, which only a proxy is worth

    if should_bypass_proxies(configuration.host, configuration.no_proxy or ""):
        return ""
    if named or not is_loopback(urlsplit(configuration.host).hostname or ""):
        return str(configuration.proxy)
    return ""


def _text(path: str | None) -> str:
    return Path(path).read_text("utf-8") if path else ""


def _means(config: Any, user: str | None) -> str:
    """How a user proves who it is, with the name of the program that does it, if any; in the order of the package."""
    node = config["users"].get_with_name(user, safe=True) if user else None
    entry = (node.safe_get("user") if node is not None else None) or {}
    if provider := entry.get("auth-provider"):
        return f"auth provider '{provider.get('name', '')}'"
    if entry.get("token") or entry.get("tokenFile"):
        return "token" if entry.get("token") else "token file"
    if plugin := entry.get("exec"):
        return f"exec plugin '{plugin.get('command', '')}'"
    if entry.get("client-certificate") or entry.get("client-certificate-data"):
        return "client certificate"
    return "user name and password" if entry.get("username") else ""


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
