"""What templates see of a cluster that nobody asks: a stock Kubernetes, as a real API server describes itself."""

from collections.abc import Iterable, Iterator

from hookrunner.model.releases import Capabilities
from kubetypes import builtin_kinds


def stock(version: str = "", more: Iterable[str] = ()) -> Capabilities:
    """The API versions of a Kubernetes without CRDs, and `more`: `group/version` or `group/version/Kind`, where the
    kind brings its version along. `version` is told as it is (`v1.33.1`, or `1.33` for short); empty is our own."""
    known = str(builtin_kinds.document()["version"]["gitVersion"])
    named = {name for one in more for name in _with_its_version(one)}
    return Capabilities(_whole(version) or known, tuple(sorted({*_served(), *named})))


def _served() -> Iterator[str]:
    for group in builtin_kinds.document()["groups"]:
        name = f"{group['group']}/{group['version']}".lstrip("/")
        yield name
        yield from (f"{name}/{kind['kind']}" for kind in group["kinds"])


def _with_its_version(name: str) -> Iterator[str]:
    yield name
    if name.count("/") == 2:
        yield name.rpartition("/")[0]


def _whole(version: str) -> str:
    """`1.33` → `v1.33.0`: templates compare versions of three numbers."""
    if not version:
        return ""
    numbers = version.removeprefix("v")
    return f"v{numbers}{'.0' * max(0, 2 - numbers.count('.'))}"
