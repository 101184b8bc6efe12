"""Checks of the objects that a chart makes: kinds that Kubernetes does not serve, which the API server would refuse."""

import re
from collections.abc import Iterator

from hookrunner import regular_files
from hookrunner.linting import kinds
from hookrunner.linting.modules.places import START, Position
from hookrunner.linting.modules.remarks import ModuleRemark
from hookrunner.model.modules import Module
from hookrunner.model.releases import RenderedChart
from hookrunner.model.resources import JSON

_SOURCE = re.compile(r"^# Source: [^/\n]+/(\S+)\n", re.MULTILINE)


def check(module: Module, rendered: RenderedChart) -> Iterator[ModuleRemark]:
    """A remark for each template and kind."""
    for obj in [*rendered.objects, *(hook.obj for hook in rendered.hooks)]:
        api_version, kind = str(obj.get("apiVersion")), str(obj.get("kind"))
        if told := kinds.problem(api_version, kind, exact=True):
            path = _template(rendered, obj)
            yield ModuleRemark(path, _place(module, path, api_version, kind), kinds.CODE, told)


def _template(rendered: RenderedChart, obj: JSON) -> str:
    """The template that an object is from, in the module's directory; empty if that cannot be told."""
    for hook in rendered.hooks:
        if hook.obj is obj:
            return hook.path.partition("/")[2]
    parts = _SOURCE.split(rendered.manifest)
    words = (f"apiVersion: {obj['apiVersion']}", f"kind: {obj['kind']}", str(obj["metadata"].get("name")))
    templates = zip(parts[1::2], parts[2::2], strict=True)
    return next((path for path, text in templates if all(word in text for word in words)), "")


def _place(module: Module, path: str, api_version: str, kind: str) -> Position:
    """Where the kind stands in its template, or else the version."""
    try:
        lines = regular_files.read_text(module.directory / path, errors="replace").splitlines()
    except OSError:
        return START
    for words in (f"kind: {kind}", f"apiVersion: {api_version}"):
        for number, line in enumerate(lines, 1):
            if line.strip().startswith(words):
                return number, line.index(words) + 1
    return START
