"""Writes what the sandbox knows of Go's types and their defaults: `python -m tests.controlplane.types_data`.

It runs the Go program `go/gotypes` (about a minute the first time) for the kinds in `kubetypes/openapi/kinds.json.gz`
and packs what it prints, with what that depends on, into `kubesandbox/data/types.json.gz`.
"""

import gzip
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from kubetypes.openapi import builtin_kinds
from tests.controlplane.build import GO_MODULE, find_go
from tests.controlplane.cache import run

ROOT = Path(__file__).parents[2]
PACKED = ROOT / "kubesandbox/data/types.json.gz"
BODIES = ("/v1/DeleteOptions",)
"""What comes as a body though it is neither a kind nor a subresource."""


def made_of() -> dict[str, str]:
    """What the data depends on, as hashes: the Go program, the modules' versions, the kinds."""
    parts = {
        "program": b"".join(file.read_bytes() for file in sorted((GO_MODULE / "gotypes").glob("*.go"))),
        "modules": (GO_MODULE / "go.mod").read_bytes(),
        "kinds": "\n".join(kinds()).encode(),
    }
    return {name: hashlib.sha256(content).hexdigest()[:16] for name, content in parts.items()}


def kinds() -> list[str]:
    """The sandbox's kinds and those of their subresources, `group/version/Kind`; not options of connections."""
    said = builtin_kinds.document()
    found = {
        f"{one['group']}/{one['version']}/{one['kind']}"
        for group in said["groups"]
        for kind in group["kinds"]
        for one in ({**group, **kind}, *kind["subresources"].values())
    }
    return sorted([one for one in found if not one.endswith("Options")] + [*BODIES])


def types() -> dict[str, Any]:
    """What the Go program prints, and what it depends on. Raises `BedUnavailable` if it cannot be run."""
    env = dict(os.environ, CGO_ENABLED="0", GOTOOLCHAIN="local", GOFLAGS="-mod=readonly -trimpath -buildvcs=false")
    command = [str(find_go()), "run", "./gotypes", *kinds()]
    printed = run(command, cwd=GO_MODULE, env=env, why="Go's types could not be listed")
    return {"made_of": made_of(), **json.loads(printed)}


if __name__ == "__main__":
    PACKED.write_bytes(gzip.compress(json.dumps(types(), separators=(",", ":")).encode(), mtime=0))
