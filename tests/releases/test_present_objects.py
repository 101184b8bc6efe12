"""What is remembered of objects that a watch shows before they are tracked, in virtual time. Level: pure."""

import asyncio

import pytest

from hookrunner.model.events import Synced
from hookrunner.model.resources import ObjectKey
from hookrunner.releases.object_watches import PresentObjects
from kubetypes.json_values import JSON

pytestmark = pytest.mark.looptime

KEY = ObjectKey("default", "ConfigMap", "a")


def metadata(version: int) -> JSON:
    return {"resourceVersion": str(version)}


def listed() -> PresentObjects:
    present = PresentObjects("ConfigMap")
    assert [*present.noted([Synced("1")])] == [Synced("1")]
    return present


async def test_the_latest_state_is_recalled_once_whatever_namespace_a_manifest_names() -> None:
    present = listed()
    present.remember(KEY, metadata(1))
    present.remember(KEY, metadata(2))
    assert [present.recall("default", "a"), present.recall("default", "a")] == [metadata(2), None]
    present.remember(KEY._replace(namespace=""), metadata(3))
    assert present.recall("default", "a") == metadata(3)


async def test_nothing_is_remembered_for_long() -> None:
    present = listed()
    for name in "abc":
        present.remember(KEY._replace(name=name), metadata(1))
        await asyncio.sleep(4)
    assert [present.recall("default", name) for name in "abc"] == [None, metadata(1), metadata(1)]
    present.remember(KEY, metadata(2))
    await asyncio.sleep(10.1)
    assert present.recall("default", "a") is None


async def test_a_long_list_is_not_kept_and_of_many_changes_the_last() -> None:
    present = PresentObjects("ConfigMap")
    present.remember(KEY, metadata(1))
    assert present.recall("default", "a") is None
    present = listed()
    for number in range(500):
        present.remember(KEY._replace(name=f"m{number}"), metadata(number))
    assert [number for number in range(500) if present.recall("default", f"m{number}")] == [*range(200, 500)]
