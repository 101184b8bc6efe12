"""Pauses and reports when another writer undoes our repairs. Level: pure."""

import asyncio
from typing import Any

import pytest

from hookrunner.registration.registered_object import RepairHistory, last_writer
from tests.tables import each


def managed(*managers: str) -> Any:
    """Written by these, one after the other."""
    entries = [{"manager": name, "time": f"2026-01-0{day}T00:00:00Z"} for day, name in enumerate(managers, 1)]
    return {"metadata": {"managedFields": entries[::-1]}}


@each(
    ("obj", "writer"),
    [
        (None, "a client that deletes it"),
        (managed("kubectl", "argocd"), "'argocd'"),
        (managed("argocd", "hookrunner"), "'argocd'"),
        (managed("hookrunner"), "an unknown writer"),
        ({"metadata": {}}, "an unknown writer"),
    ],
)
def test_last_writer_is_named(obj: Any, writer: str) -> None:
    assert last_writer(obj) == writer


@pytest.mark.looptime
async def test_pauses_grow_and_the_dispute_is_reported() -> None:
    history = RepairHistory()
    pauses = []
    for _ in range(9):
        pauses.append(history.pause)
        history.add(managed("argocd"))
    assert pauses == [0, 0.5, 1, 2, 4, 8, 16, 30, 30]
    assert "changed back 9 times, last by 'argocd'" in history.problem


@pytest.mark.looptime
async def test_single_change_is_forgotten_after_a_while() -> None:
    history = RepairHistory()
    for _ in range(3):
        history.add(None)
        await asyncio.sleep(59)
    assert history.problem
    await asyncio.sleep(2)
    assert (history.pause, history.problem) == (0, "")
