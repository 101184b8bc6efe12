"""What Go knows of the built-in kinds and OpenAPI does not say: which fields are pointers, what is left out when empty,
what types are called in errors, and which values are filled in.

The data comes from `tests/controlplane/go/gotypes`, which asks Go's reflection and Kubernetes' own defaulting.
"""

import gzip
from dataclasses import field
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from kubetypes.light_dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Field:
    """A field of a struct. `inside` names the embedded structs on the way to it (`ProbeHandler.`), for errors.

    `omit` is "" where the field is always written, else `omitempty` or `omitzero`. `numbers` is the way to the field in
    a protobuf message: its own number, those of embedded structs before it.
    """

    name: str
    type: "Type"
    inside: str
    omit: str
    numbers: tuple[int, ...] = ()

    @property
    def path(self) -> str:
        """How Go's errors call the field."""
        return self.inside + self.name


@dataclass(slots=True, eq=False)
class Type:
    """A Go type: `kind` is Go's (`struct`, `pointer`, `slice`, `map`, `string`, `int32`, …) or, for types that write
    themselves to JSON, one of `quantity`, `time`, `microtime`, `intorstring`, `bytes`, `any`.

    `go` is Go's name for it (`v1.PodSpec`), `name` a struct's full name (`core/v1.PodSpec`). `defaults` are values of a
    struct's fields that the API fills in whatever the rest of the object says.
    """

    kind: str
    go: str
    name: str
    elem: "Type | None" = None
    fields: dict[str, Field] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)

    @property
    def inner(self) -> "Type":
        """What a pointer points to, what a list or a map holds."""
        assert self.elem is not None, f"{self.go} has no elements"
        return self.elem


def type_of(api_version: str, kind: str) -> Type | None:
    """The Go type of a built-in kind; None if there is no such kind."""
    group, _, version = api_version.rpartition("/")
    return _known().get(f"{group}/{version}/{kind}")


@cache
def _known() -> dict[str, Type]:
    packed = files("kubesandbox").joinpath("data/types.json.gz").read_bytes()
    said = orjson.loads(gzip.decompress(packed))
    nodes: list[dict[str, Any]] = said["types"]
    types = [Type(node["kind"], node["go"], node.get("name", "")) for node in nodes]
    for node, type_ in zip(nodes, types, strict=True):
        type_.defaults = said["defaults"].get(type_.name, {})
        if "elem" in node:
            type_.elem = types[node["elem"]]
        for one in node.get("fields", ()):
            numbers = () if one.get("in") == "TypeMeta." else tuple(one.get("pb", ()))
            said_in, omit = one.get("in", ""), one.get("omit", "")
            type_.fields[one["name"]] = Field(one["name"], types[one["type"]], said_in, omit, numbers)
    return {line: types[at] for line, at in said["kinds"].items()}
