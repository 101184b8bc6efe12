"""What a module says about itself in `module.yaml` (design.md §4.2; docs/module-yaml.md shows it).

Others use a file of this name too, so that keys which mean nothing here are warned of and never fail. A key that does
mean something and has a wrong value makes the module one that does not load: to guess would mean to install it at the
wrong time or in the wrong place.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from hookrunner import log, regular_files
from hookrunner.errors import BadModule
from hookrunner.hooks.shapes import FLAG, TEXT, Integer, Many, Problem, Table, Text, check, suggestion
from hookrunner.model.modules import Drift, Traits
from hookrunner.model.resources import JSON
from hookrunner.modules import versions
from kubetypes import yaml_values
from kubetypes.yaml_values import BadDocument

MODULE_FILE = "module.yaml"
HIGHEST_WEIGHT = 2**31 - 1

_REQUIRES = Table({"modules": Many(TEXT, at_least=0), "kubernetes": TEXT}, open=True)
_FILE = Table(
    {
        "name": TEXT,
        "weight": Integer(0, HIGHEST_WEIGHT),
        "description": TEXT,
        "version": TEXT,
        "critical": FLAG,
        "gate": FLAG,
        "requires": _REQUIRES,
        "namespace": TEXT,
        "adopt": FLAG,
        "wait": FLAG,
        "rollbackOnFailure": FLAG,
        "driftDetection": Text(get_args(Drift)),
    },
    open=True,
)

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?|")
"""Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names"""
_REQUIREMENT = re.compile(r"([^\s<>=!~^,|]+)\s*(.*)")

_log = log.get("modules.traits")


@dataclass(frozen=True, slots=True)
class Description:
    """What the file says: `name` and `weight` only if it does, the rest with every default. `strange` are the keys
    that mean nothing here, as paths, each with what may have been meant."""

    name: str = ""
    weight: int | None = None
    traits: Traits = field(default_factory=Traits)
    strange: tuple[str, ...] = ()


def read(directory: Path) -> Description:
    """The description of the module in a directory, whose chart's version counts if `module.yaml` has none. Keys that
    mean nothing here are logged. Raises BadModule with all that is wrong."""
    path = directory / MODULE_FILE
    found = parse(_text(path), str(path), _chart_version(directory))
    if found.strange:
        _log.warn("keys in module.yaml that mean nothing here are ignored", path=path, keys="; ".join(found.strange))
    return found


def parse(text: bytes, path: str, chart_version: str = "") -> Description:
    """The same of a file's text; `path` is for messages."""
    try:
        document = next(yaml_values.documents(text, yaml_values.YAML_1_2), None)
    except BadDocument as error:
        raise BadModule(f"{path}: {error}") from None
    said = {} if document is None else document
    problems = [*check(said, _FILE), *(_meanings(said) if isinstance(said, dict) else ())]
    if problems:
        raise BadModule(f"{path}: " + "; ".join(map(str, problems)))
    return Description(said.get("name", ""), said.get("weight"), _traits(said, chart_version), tuple(_strange(said)))


def _traits(said: Mapping[str, JSON], chart_version: str) -> Traits:
    requires = said.get("requires", {})
    default = Traits()
    return Traits(
        description=said.get("description", default.description),
        version=said.get("version", chart_version),
        critical=said.get("critical", default.critical),
        gate=said.get("gate", default.gate),
        modules=tuple(_requirement(line) for line in requires.get("modules", ())),
        kubernetes=requires.get("kubernetes", default.kubernetes).strip(),
        namespace=said.get("namespace", default.namespace),
        adopt=said.get("adopt", default.adopt),
        wait=said.get("wait", default.wait),
        rollback_on_failure=said.get("rollbackOnFailure", default.rollback_on_failure),
        drift=said.get("driftDetection", default.drift),
    )


def _requirement(line: str) -> tuple[str, str]:
    """`b >=1.2` is a module's name and the range of its versions. The blank may be missing."""
    match = _REQUIREMENT.fullmatch(line.strip())
    return (match[1], match[2]) if match else ("", line.strip())


def _meanings(said: Mapping[str, JSON]) -> Iterator[Problem]:
    """What is of the right type and still means nothing."""
    namespace = said.get("namespace")
    if isinstance(namespace, str) and not _NAMESPACE.fullmatch(namespace):
        yield Problem("namespace", f"can be no '{namespace}'; a name has small letters, digits and '-', at most 63")
    requires = said.get("requires")
    if not isinstance(requires, dict):
        return
    modules = requires.get("modules")
    for place, line in enumerate(modules if isinstance(modules, list) else ()):
        if isinstance(line, str):
            name, wanted = _requirement(line)
            if not name:
                yield Problem(f"requires.modules[{place}]", "names no module; write its name, or `name >=1.2`")
            yield from _range(wanted, f"requires.modules[{place}]")
    if isinstance(requires.get("kubernetes"), str):
        yield from _range(requires["kubernetes"], "requires.kubernetes")


def _range(wanted: str, path: str) -> Iterator[Problem]:
    try:
        versions.parse(wanted)
    except ValueError as error:
        yield Problem(path, str(error))


def _strange(said: Mapping[str, JSON]) -> Iterator[str]:
    for prefix, table, keys in (("", _FILE, said), ("requires.", _REQUIRES, said.get("requires", {}))):
        for key in keys:
            if key not in table.keys:
                yield f"{prefix}{key}{suggestion(key, table.keys)}"


def _text(path: Path) -> bytes:
    """The file's bytes, none if it is not there."""
    try:
        return regular_files.read(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise BadModule(f"{path}: cannot be read: {error.strerror}") from None


def _chart_version(directory: Path) -> str:
    """What is wrong with `Chart.yaml` is for whoever renders the chart to say."""
    try:
        document = next(yaml_values.documents(regular_files.read(directory / "Chart.yaml"), yaml_values.YAML_1_2), None)
    except (OSError, BadDocument):
        return ""
    version = document.get("version") if isinstance(document, dict) else None
    return version if isinstance(version, str) else ""
