"""Runs functions of a hook as a test calls them: without files, processes or a cluster.

    from hookrunner.sdk.testing import load, run

    hook = load("hooks/label.py")
    answer = run(hook, "label", object={"kind": "Namespace", "metadata": {"name": "shop"}})
    assert answer["operations"][0]["name"] == "shop"

Nothing applies jq filters or selectors here: give `filter_result`, and only objects that the binding selects. Cases of
`hookrunner hook test` do all of that (docs/testing-hooks.md).
"""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from .hook import Hook
from .tasks import Task

JSON = Any


def load(path: str | Path) -> Hook:
    """The hook of a file, which may have any name. Raises ValueError if it has not exactly one."""
    loader = SourceFileLoader(Path(path).stem.replace("-", "_").replace(".", "_"), str(path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    hooks = [one for one in vars(module).values() if isinstance(one, Hook)]
    if len(hooks) != 1:
        raise ValueError(f"{path} has {len(hooks)} hooks; one is expected")
    return hooks[0]


def run(
    hook: Hook,
    binding: str,
    *,
    event: str = "Added",
    object: JSON = None,
    snapshots: Mapping[str, Sequence[JSON]] | None = None,
    **more: JSON,
) -> dict[str, JSON]:
    """Run the hook once for one context of a binding, which is called like its function unless it has another name,
    and return the answer (docs/hook-protocol.md). `snapshots` has objects by binding.

    `event`: Added, Modified, Deleted; Synchronization with `objects`; Schedule, Startup; Group, with the group's name
    as the binding; CREATE, UPDATE, DELETE or CONNECT for a review, with `old_object` and `request` for its other keys;
    Conversion with `objects` and `to`. Further keywords: `filter_result`, `values`, `config_values`, `instance`,
    `attempt`. Raises what the function raises.
    """
    names = {"values": "values", "config_values": "configValues", "instance": "instance", "attempt": "attempt"}
    context = _context(binding, event, object, more)
    context["snapshots"] = {name: [{"object": obj} for obj in objects] for name, objects in (snapshots or {}).items()}
    given = {names[key]: value for key, value in more.items() if key in names}
    task = Task(copy.deepcopy({"contexts": [context], **given}))
    hook.carry_out(task)
    return task.answer()


def _context(binding: str, event: str, obj: JSON, more: Mapping[str, JSON]) -> dict[str, JSON]:
    if event in ("Added", "Modified", "Deleted"):
        filtered = {"filterResult": more["filter_result"]} if "filter_result" in more else {}
        return {"binding": binding, "type": "Event", "watchEvent": event, "object": obj, **filtered}
    if event == "Synchronization":
        objects = more.get("objects") or [obj]
        return {"binding": binding, "type": event, "objects": [{"object": one} for one in objects]}
    if event == "Group":
        return {"binding": binding, "type": event, "groupName": binding}
    if event == "Conversion":
        objects = more.get("objects") or [obj]
        review = {"request": {"uid": "", "objects": objects}}
        versions = {"fromVersion": objects[0]["apiVersion"].rpartition("/")[2], "toVersion": more["to"]}
        return {"binding": binding, "type": event, **versions, "review": review}
    if event in ("CREATE", "UPDATE", "DELETE", "CONNECT"):
        metadata = (obj or more.get("old_object") or {}).get("metadata") or {}
        names = {key: metadata.get(key, "") for key in ("name", "namespace")}
        request = {"operation": event, **names, "object": obj, "oldObject": more.get("old_object")}
        return {"binding": binding, "type": "Validating", "review": {"request": {**request, **more.get("request", {})}}}
    return {"binding": binding, **({} if event == "Startup" else {"type": event})}
