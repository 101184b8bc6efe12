"""Kubeconfigs of the test bed: with a bearer token, and with a note about the cluster's insides.

The note is a kubeconfig *extension*, which other programs keep and ignore. It is there so that a user of the file,
for example through `HOOKRUNNER_TEST_KUBECONFIG`, can compact etcd and sign tokens too.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

EXTENSION = "hookrunner.io/test-bed"


@dataclass(frozen=True, slots=True)
class Insides:
    """What only the test bed's own cluster shows: etcd's client URL and the key that signs service account tokens."""

    etcd_url: str
    signing_key: str


@dataclass(frozen=True, slots=True)
class Access:
    """Where an API server is, whom to trust and who one is; `insides` is None for a cluster that is not ours. With
    `acting_as`, a user and its groups, an administrator acts for them."""

    url: str
    ca: Path
    token: str
    insides: Insides | None = None
    acting_as: tuple[str, ...] = ()


def write_kubeconfig(file: Path, access: Access) -> Path:
    """Write a kubeconfig with one context, readable by its owner only. Returns the file."""
    cluster: dict[str, object] = {"server": access.url, "certificate-authority": str(access.ca)}
    if access.insides:
        cluster["extensions"] = [{"name": EXTENSION, "extension": asdict(access.insides)}]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test-bed",
        "contexts": [{"name": "test-bed", "context": {"cluster": "test-bed", "user": "test-bed"}}],
        "clusters": [{"name": "test-bed", "cluster": cluster}],
        "users": [{"name": "test-bed", "user": {"token": access.token}}],
    }
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    return file


def read_kubeconfig(file: Path) -> Access:
    """Read a kubeconfig that `write_kubeconfig` wrote. Raises `KeyError` for another's that lacks one of its keys."""
    config = yaml.safe_load(file.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    notes = {note["name"]: note["extension"] for note in cluster.get("extensions", [])}
    insides = Insides(**notes[EXTENSION]) if EXTENSION in notes else None
    return Access(cluster["server"], Path(cluster["certificate-authority"]), user["token"], insides)
