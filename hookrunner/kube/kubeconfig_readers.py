"""The readers of kubeconfigs of the `kubernetes` package, without its clients.

The package imports its clients first, with all kinds of Kubernetes and pydantic: half of the time of its import. The
readers call them, and the packages for OAuth 2, only to renew a token of the auth provider `oidc`. Here each of them
has a stand-in, which imports it when it is called.

For a process of its own, as `kubeconfig.py` is: other code that imports the package there would find no clients in it.
"""

# mypy: disable-error-code="attr-defined"
# (what is set on a module)
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_OAUTH = "requests_oauthlib"


def _skip(package: str) -> ModuleType:
    """Let modules of a package be imported without its `__init__`."""
    spec, skipped = find_spec(package), ModuleType(package)
    skipped.__path__ = list(spec.submodule_search_locations or ()) if spec else []
    sys.modules[package] = skipped
    return skipped


def _import_when_called(module: str, name: str) -> Callable[..., Any]:
    """Stands in for a class."""

    def make(*arguments: Any, **more: Any) -> Any:
        sys.modules.pop(_OAUTH, None)
        return getattr(import_module(module), name)(*arguments, **more)

    return make


_skip("kubernetes")
_skip("kubernetes.config")
_clients = _skip("kubernetes.client")
_clients.Configuration = import_module("kubernetes.client.configuration").Configuration
_clients.ApiClient = _import_when_called("kubernetes.client.api_client", "ApiClient")
_skip(_OAUTH).OAuth2Session = _import_when_called(_OAUTH, "OAuth2Session")

from kubernetes.client import Configuration  # noqa: E402
from kubernetes.config.config_exception import ConfigException  # noqa: E402
from kubernetes.config.incluster_config import InClusterConfigLoader  # noqa: E402
from kubernetes.config.kube_config import (  # noqa: E402
    ENV_KUBECONFIG_PATH_SEPARATOR,
    KUBE_CONFIG_DEFAULT_LOCATION,
    KubeConfigLoader,
    KubeConfigMerger,
)

__all__ = [
    "ENV_KUBECONFIG_PATH_SEPARATOR",
    "KUBE_CONFIG_DEFAULT_LOCATION",
    "ConfigException",
    "Configuration",
    "InClusterConfigLoader",
    "KubeConfigLoader",
    "KubeConfigMerger",
]
