"""What `cloud check`, `cloud call` and `cloud adopt` share: which provider, how it is called, and Nodes as a user names
them."""

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hookrunner import settings
from hookrunner.cli.provider_completion import complete_providers
from hookrunner.cloud.checks.made_up_objects import made_up_node
from hookrunner.cloud.checks.probe import Probe
from hookrunner.cloud.checks.program_runner import ProcessRunner
from hookrunner.cloud.nodes.cloud_node import CloudNode, read_node
from hookrunner.cloud.provider.provider_program import ProviderProgram, find_program
from hookrunner.errors import BadInput, StartRefused
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.testing import manifests
from kubetypes.json_values import JSON

_FLAGS = ("cloud-config", "cloud-env", "cluster-name", "provider-timeout", "providers-dir")
_ARGUMENT = click.argument("provider", shell_complete=complete_providers)
_OPTION = click.option(
    "--cloud-provider", "provider", metavar="PROVIDER", shell_complete=complete_providers, help="Its path or its name."
)
_OPTIONS = (
    click.option("--cloud-config", metavar="FILE", help="A file for the provider; its path is in CLOUD_CONFIG."),
    click.option("--cloud-env", metavar="NAME,…", help="Variables that it gets besides PATH, HOME and their like."),
    click.option("--cluster-name", metavar="NAME", help="What it gets to know as the cluster's name."),
    click.option("--provider-timeout", metavar="DURATION", help="How long a call may take. [default: 60s]"),
    click.option("--providers-dir", metavar="DIR", help="Where it is if it is given by its name. [default: providers]"),
)


def of_provider(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the argument and the flags that name a provider, as `program`."""
    return _name_provider(command, _ARGUMENT)


def of_optional_provider(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same with a flag in place of the argument: `program` is None where neither flag nor variable names one."""
    return _name_provider(command, _OPTION)


def _name_provider(command: Callable[..., Any], named_by: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(command)
    def call(provider: str | None, **given: Any) -> Any:
        flags = {flag: given.pop(flag.replace("-", "_")) for flag in _FLAGS} | {"cloud-provider": provider}
        return command(program=_read_program({flag: text for flag, text in flags.items() if text}), **given)

    for option in reversed((named_by, *_OPTIONS)):
        call = option(call)
    return call


def _read_program(flags: dict[str, str]) -> ProviderProgram | None:
    loaded = settings.load(flags, click.get_current_context().find_root().info_name or "")
    try:
        return find_program(loaded) if loaded.cloud.provider else None
    except StartRefused as error:
        raise BadInput(str(error)) from None


def probe_of(program: ProviderProgram) -> Probe:
    """What asks the provider as `cloud start` would, a process for each question."""
    runner = ProcessRunner(program.executable, program.environment, Children(Patience()))
    return Probe(runner, program.cluster, program.timeout, mask=program.masked)


def read_nodes(named: Iterable[str]) -> list[CloudNode]:
    """Nodes of files, and those that are given by their names alone. Raises BadInput."""
    return [node for text in named for node in _nodes(text)]


def _nodes(text: str) -> list[CloudNode]:
    if not Path(text).exists() and "/" not in text and not text.endswith((".yaml", ".yml", ".json")):
        return [made_up_node(name=text)]
    try:
        return [read_node(_completed(obj)) for obj in read_objects(text, "Node")]
    except (LookupError, TypeError, ValueError) as error:
        raise BadInput(f"--node {text}: it is not a Node as `kubectl get node -o yaml` prints it: {error!r}") from None


def _completed(node: JSON) -> JSON:
    """A Node that was written by hand has less metadata than one that the API server has stored."""
    known = {"uid": "", "creationTimestamp": "1970-01-01T00:00:00Z"}
    return {**node, "metadata": {**known, **node["metadata"]}}


def read_objects(path: str, kind: str) -> list[JSON]:
    """The objects of one kind in a file, at least one; `-` is standard input. Raises BadInput."""
    found = [obj for obj in manifests.load([path], Path.cwd()) if obj["kind"] == kind]
    if not found:
        raise BadInput(f"{path}: there is no object of kind {kind} in it")
    return found
