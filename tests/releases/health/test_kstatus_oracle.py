"""Status and reason equal those of cli-utils' own code. Level: pure."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from hookrunner.releases.health.object_health import health_of
from tests.oracles import kstatus
from tests.releases.health.random_objects import random_objects

MALFORMED: list[Any] = [
    {"status": {"conditions": "none"}},
    {"status": {"conditions": [{"type": "Ready", "status": True}]}},
    {"status": {"conditions": [{"type": "Ready", "status": "Perhaps"}]}},
    {"status": {"conditions": None}},
    {"status": None},
    {"metadata": {"name": "x", "generation": "2"}},
    {"metadata": {"name": "x", "generation": 2}, "status": {"observedGeneration": "2"}},
    {"spec": {"replicas": "3"}, "status": {"replicas": 1.0}},
    {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Dreaming"}},
    {"apiVersion": "v1", "kind": "Pod", "status": {"phase": 3}},
]


@pytest.mark.slow
def test_ten_thousand_random_objects_are_judged_as_by_the_library() -> None:
    objects = list(random_objects(seed=15, count=10_000))
    objects += [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}} | part for part in MALFORMED]
    now = datetime.now(UTC)
    ours = [(str(health.status), health.reason) for health in (health_of(obj, now) for obj in objects)]
    theirs = kstatus.verdicts(objects)
    differences = [row for row in zip(ours, theirs, objects, strict=True) if row[0] != row[1]]
    assert differences[:3] == []
    assert len(Counter(theirs)) > 30, "the objects reach few rules"
