"""Where sources are that cannot be reached: `--addon-mirror FROM=TO,…`.

    mirrors = parse_mirrors("https://example.com=file:/srv/mirror", base=Path.cwd())
    mirrors.moved("https://example.com/addons")     # file:/srv/mirror/addons

FROM is a location as addon.yaml or --addon-source has it, or what it begins with, up to a `/`; the longest one counts.
What is required of a package is that of TO, and its digest is the same wherever it lies. So nothing that runs changes
when packages come from a mirror.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from hookrunner.packages.web_addresses import without_credentials
from kubetypes.light_dataclasses import dataclass

_PAIR = re.compile(r"(?P<origin>[^=]+?(\?ref=[^=]*)?)=(?P<mirror>.+)")


@dataclass(frozen=True, slots=True)
class Mirrors:
    """The places to look at, by the beginnings of locations that they stand for."""

    by_origin: Mapping[str, str] = field(default_factory=dict)

    def moved(self, location: str) -> str:
        """The location in a mirror; itself without one."""
        for origin in sorted(self.by_origin, key=len, reverse=True):
            if location == origin or location.startswith(f"{origin}/"):
                return self.by_origin[origin] + location.removeprefix(origin)
        return location


def parse_mirrors(text: str, base: Path) -> Mirrors:
    """The value of --addon-mirror; a relative path in TO begins at the base. Raises ValueError with what is wrong."""
    by_origin: dict[str, str] = {}
    for pair in filter(None, text.split(",")):
        if not (match := _PAIR.fullmatch(pair)):
            raise ValueError(f"{without_credentials(pair)!r} is no FROM=TO; write https://example.com=file:/srv/mirror")
        origin, mirror = match["origin"].rstrip("/"), match["mirror"].rstrip("/")
        if origin in by_origin:
            raise ValueError(f"{without_credentials(origin)} has two mirrors; remove one")
        by_origin[origin] = mirror if ":" in mirror else str(base / mirror)
    return Mirrors(by_origin)
