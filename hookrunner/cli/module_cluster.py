"""The flags that say for which cluster the files of a module are rendered."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hookrunner.cli.module_files import Files


@dataclass(frozen=True, slots=True)
class Wanted:
    """For which cluster files are rendered. `live` asks one: that of these settings, else the usual one."""

    namespace: str
    version: str
    api_versions: tuple[str, ...]
    config: str
    context: str
    live: bool


_OPTIONS = (
    click.option("--namespace", default="", metavar="NS", help="Of files: the namespace of the release."),
    click.option("--kube-version", "version", default="", metavar="VERSION", help="Of files: that of the cluster."),
    click.option(
        "--api-versions",
        "api_versions",
        multiple=True,
        metavar="VERSION",
        help="Of files: what the cluster serves besides, as GROUP/VERSION/KIND; may be repeated, or with commas.",
    ),
    click.option(
        "--kube-config",
        "kubeconfig",
        default="",
        metavar="FILE",
        help="Of files: render for this cluster: its version, its APIs, and what `lookup` finds.",
    ),
    click.option("--kube-context", "context", default="", metavar="NAME", help="Of files: its context."),
)


def for_a_cluster(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command the flags, and as `wanted` what they say."""

    @wraps(command)
    def call(namespace: str, version: str, kubeconfig: str, context: str, **rest: Any) -> Any:
        if kubeconfig and not Path(kubeconfig).is_file():
            raise click.BadParameter(f"there is no file '{kubeconfig}'", param_hint="--kube-config")
        named = tuple(word for text in rest.pop("api_versions") for word in text.split(",") if word)
        live = bool(kubeconfig or context or rest["diff"])
        wanted = Wanted(namespace, version, named, kubeconfig, context, live)
        given = wanted != Wanted("", "", (), "", "", live)
        if given and not isinstance(rest["source"], Files):
            raise click.UsageError("flags about a cluster are for looking at files: give --modules-dir, too")
        return command(wanted=wanted, **rest)

    for option in reversed(_OPTIONS):
        call = option(call)
    return call
