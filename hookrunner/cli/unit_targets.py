"""What commands about units are about, how they name it, and how a shell completes that.

Completion asks a running hookrunner, and is silent where no one answers.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from typing import TypeAlias
from urllib.parse import quote, urlencode

import click
import orjson

from hookrunner.cli import debug
from hookrunner.model.modules import GLOBAL
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[str]]


@dataclass(frozen=True, slots=True)
class UnitTarget:
    """A module, an instance of `addon`, or `global`. `namespace` is that of an instance, empty if it was not named."""

    name: str
    addon: str = ""
    namespace: str = ""

    def path(self, what: str, **query: str | int | bool) -> str:
        """The path of one of its views: `/addon/coredns/default/values.yaml?namespace=kube-system`."""
        wanted = {"namespace": self.namespace, **query}
        flags = {key: "true" if value is True else value for key, value in wanted.items() if value}
        return f"{self._base}/{what}" + f"?{urlencode(flags)}" * bool(flags)

    @property
    def _base(self) -> str:
        if self.addon:
            return f"/addon/{quote(self.addon, safe='')}/{quote(self.name, safe='')}"
        return f"/{GLOBAL}" if self.name == GLOBAL else f"/module/{quote(self.name, safe='')}"

    def __str__(self) -> str:
        return f"{self.addon}/{self.name}" if self.addon else self.name


def ask_running(ctx: click.Context, path: str) -> JSON:
    """What a running hookrunner answers, for completion. Raises click.ClickException."""
    return orjson.loads(debug.ask(ctx.params.get("sockets") or debug.places(ctx), path))


def completing(names: Callable[[click.Context], Iterable[str]]) -> _Complete:
    """Offer those of the names that begin as typed. An error offers none: its message would break the completion."""

    @wraps(names)
    def complete(ctx: click.Context, _param: click.Parameter, typed: str) -> list[str]:
        with suppress(Exception):
            return [name for name in dict.fromkeys(names(ctx)) if name.startswith(typed) and name.isprintable()]
        return []

    return complete
