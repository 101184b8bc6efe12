"""JSON, YAML and text of a debug answer (shell-operator.md §11.4), and times as Kubernetes writes them."""

import time
from typing import Literal, TypeAlias

import orjson
import yaml
from aiohttp import web

from hookrunner.model.resources import JSON

Format: TypeAlias = Literal["json", "yaml", "text"]
FORMAT = r"{format:(\.\w+)?}"
"""The end of a route that knows formats."""


def format_of(extension: str) -> Format:
    """`.yaml` → yaml; no extension means text, an unknown one JSON."""
    match extension.removeprefix("."):
        case "" | "text":
            return "text"
        case "yaml":
            return "yaml"
        case _:
            return "json"


def answer(value: JSON, form: Format) -> web.Response:
    """A string is its own text; everything else is shown as JSON where text was asked for.

    `value` may contain `orjson.Fragment`s.
    """
    if form == "text" and isinstance(value, str):
        return web.Response(text=value)
    text = orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    if form == "yaml":
        text = _yaml(orjson.loads(text))
    kinds = {"json": "application/json", "yaml": "application/yaml", "text": "text/plain"}
    return web.Response(body=text, content_type=kinds[form], charset="utf-8" if form == "text" else None)


def rfc3339(epoch_seconds: float) -> str:
    """`2026-07-01T12:00:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch_seconds))


def _yaml(value: JSON) -> bytes:
    text = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=2**31 - 1)
    return str(text).encode()
