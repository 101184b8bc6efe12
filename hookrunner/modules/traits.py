"""Reads `module.yaml`, in which a module describes itself (docs/module-yaml.md).

Other programs use a file of this name too, so unknown keys are logged and are no errors. A known key with a wrong value
prevents that the module is loaded: a guess might install it at the wrong time or in the wrong place.
"""

import re
from collections.abc import Iterator
from dataclasses import field
from pathlib import Path

from hookrunner import log, ranges, safe_files
from hookrunner.errors import BadModule
from hookrunner.file_schemas import FileSchema, as_fields
from hookrunner.model.modules import Traits
from hookrunner.shapes import Problem
from kubetypes import yaml_values
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.yaml_values import BadDocument

MODULE_FILE = "module.yaml"

MODULE_SCHEMA = FileSchema.load("hookrunner.modules", "module.schema.json")
HIGHEST_WEIGHT: int = MODULE_SCHEMA.properties["weight"]["maximum"]

_REQUIREMENT = re.compile(r"([^\s<>=!~^,|]+)\s*(.*)")

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Description:
    """What the file says: `name` and `weight` only if it has them, the rest with every default. `unknown` are the
    unknown keys, as paths, each with what may have been meant."""

    name: str = ""
    weight: int | None = None
    traits: Traits = field(default_factory=Traits)
    unknown: tuple[str, ...] = ()


def read(directory: Path) -> Description:
    """Read the description of the module in a directory; its version is that of the chart if `module.yaml` has none.
    Unknown keys are logged. Raises BadModule with everything that is wrong."""
    path = directory / MODULE_FILE
    description = parse(_read(path), str(path), _chart_version(directory))
    if description.unknown:
        _log.warn("unknown keys in module.yaml are ignored", path=path, keys="; ".join(description.unknown))
    return description


def parse(text: bytes, path: str, chart_version: str = "") -> Description:
    """Parse a file's text; `path` is for messages."""
    try:
        document = next(yaml_values.documents(text, yaml_values.YAML_1_2), None)
    except BadDocument as error:
        raise BadModule(f"{path}: {error}") from None
    document = {} if document is None else document
    problems = list(MODULE_SCHEMA.problems(document))
    if isinstance(document, dict):
        problems += requires_problems(document.get("requires"))
    if problems:
        raise BadModule(f"{path}: " + "; ".join(map(str, problems)))
    values = MODULE_SCHEMA.with_defaults(document)
    name, weight = values.pop("name", ""), values.pop("weight", None)
    return Description(name, weight, _traits(values, chart_version), tuple(MODULE_SCHEMA.unknown_keys(document)))


def _traits(values: dict[str, JSON], chart_version: str) -> Traits:
    requires = values.pop("requires")
    fields = {
        "version": chart_version,
        "modules": tuple(map(parse_requirement, requires["modules"])),
        "kubernetes": requires["kubernetes"].strip(),
        "drift": values.pop("driftDetection"),
    }
    return Traits(**fields | as_fields(values))


def parse_requirement(line: str) -> tuple[str, str]:
    """`b >=1.2` is a module's name and a range of its versions. The space may be missing."""
    match = _REQUIREMENT.fullmatch(line.strip())
    return (match[1], match[2]) if match else ("", line.strip())


def requires_problems(requires: JSON) -> Iterator[Problem]:
    """What is wrong with the texts in a `requires`, of which types are checked elsewhere."""
    if not isinstance(requires, dict):
        return
    modules = requires.get("modules")
    for index, line in enumerate(modules if isinstance(modules, list) else ()):
        if isinstance(line, str):
            name, wanted = parse_requirement(line)
            if not name:
                yield Problem(f"requires.modules[{index}]", "names no module; write its name, or `name >=1.2`")
            yield from _range(wanted, f"requires.modules[{index}]")
    if isinstance(requires.get("kubernetes"), str):
        yield from _range(requires["kubernetes"], "requires.kubernetes")


def _range(wanted: str, path: str) -> Iterator[Problem]:
    try:
        ranges.parse(wanted)
    except ValueError as error:
        yield Problem(path, str(error))


def _read(path: Path) -> bytes:
    """The file's bytes, empty if it does not exist."""
    try:
        return safe_files.read(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise BadModule(f"{path}: cannot be read: {error.strerror}") from None


def _chart_version(directory: Path) -> str:
    """The version in `Chart.yaml`, empty if it cannot be read: rendering the chart reports what is wrong with it."""
    try:
        document = next(yaml_values.documents(safe_files.read(directory / "Chart.yaml"), yaml_values.YAML_1_2), None)
    except (OSError, BadDocument):
        return ""
    version = document.get("version") if isinstance(document, dict) else None
    return version if isinstance(version, str) else ""
