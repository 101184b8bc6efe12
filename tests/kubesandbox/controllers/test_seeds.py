"""Manifests that are there from the beginning. Level: pure."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesandbox import kinds
from kubesandbox.controllers import seeds
from kubesandbox.controllers.namespaces import make_first
from kubesandbox.errors import BadFile
from kubesandbox.kinds import Kinds
from kubesandbox.store import Key, Store
from kubesandbox.verbs.api import Api


async def planted(file: Path, *objects: Any) -> Store:
    """A store with the objects of a file."""
    file.write_text(yaml.safe_dump_all(objects))
    api = Api(Store(), Kinds(kinds.builtin()))
    make_first(api)
    await seeds.plant(api, [file])
    return api.store


def config_map(name: str, *owners: dict[str, str]) -> dict[str, Any]:
    meta = {"name": name, "uid": f"old-{name}", "resourceVersion": "7", "ownerReferences": list(owners)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def owner(name: str, uid: str) -> dict[str, str]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name} | ({"uid": uid} if uid else {})


def metadata(store: Store, name: str) -> dict[str, Any]:
    stored = store.get(Key("configmaps", "default", name))
    assert stored is not None
    found: dict[str, Any] = stored.json()["metadata"]
    return found


@pytest.mark.parametrize("uid", ["old-owner", ""])
async def test_what_is_owned_in_the_seeds_is_owned_here(tmp_path: Path, uid: str) -> None:
    """As `kubectl get -o yaml` has printed it, or as a person writes it; whatever comes first in the file."""
    child = config_map("child", owner("owned", "old-owned"))
    store = await planted(tmp_path / "a.yaml", child, config_map("owned", owner("owner", uid)), config_map("owner"))
    for name, of in (("owned", "owner"), ("child", "owned")):
        assert metadata(store, name)["ownerReferences"][0]["uid"] == metadata(store, of)["uid"]


async def test_an_owner_that_is_not_in_the_seeds_is_kept(tmp_path: Path) -> None:
    store = await planted(tmp_path / "a.yaml", config_map("owned", owner("elsewhere", "1-2-3")))
    assert metadata(store, "owned")["ownerReferences"][0]["uid"] == "1-2-3"


async def test_owners_in_a_cycle_are_planted(tmp_path: Path) -> None:
    circle = config_map("a", owner("b", "old-b")), config_map("b", owner("a", "old-a"))
    store = await planted(tmp_path / "a.yaml", *circle)
    assert len(store.select("configmaps")) == 2


@pytest.mark.parametrize(
    "said",
    [
        ["a"],
        {"kind": "Pod"},
        {"kind": "Pod", "apiVersion": ["v1"]},
        {"kind": "Pod", "apiVersion": "v1", "metadata": "a"},
    ],
)
async def test_a_bad_object_is_reported_with_its_file(tmp_path: Path, said: object) -> None:
    with pytest.raises(BadFile, match=r"seed\.yaml: a document is no Kubernetes object"):
        await planted(tmp_path / "seed.yaml", said)
