"""Documents at their bounds on which another process works, or that the event loop reads in steps."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from hookrunner.charts.manifests import Manifests
from hookrunner.charts.render_worker import as_answer
from hookrunner.charts.renderer import read_render
from hookrunner.engine.reviews.conversion_checks import check_answer
from hookrunner.hooks import verdicts
from hookrunner.model.json_objects import IN_PLACE
from hookrunner.model.releases import Capabilities, RenderRequest
from hookrunner.process.pure_calls import LARGE, SizeBounds, call_by_size
from hookrunner.releases.records import record, record_storage
from hookrunner.releases.records.record_encoding import packed
from hookrunner.web.review_documents import read_review
from tests.security.growth import _config_map, _conversion, _objects, _review, _tab

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True, slots=True)
class LargeDocument:
    """`make` is the document; `work` is what the event loop waits for."""

    name: str
    make: Callable[[], Any]
    work: Callable[[Any], Awaitable[object]]


def _converted() -> bytes:
    return orjson.dumps({"convertedObjects": [_tab(number, "v2", 2_000) for number in range(29_000)]})


def _release(chart: int, objects: int) -> record.ReleaseRecord:
    document = {"name": "a", "namespace": "b", "version": 1, "info": {"status": "deployed"}}
    manifest = "".join(f"---\n{_config_map(20)}" for _ in range(objects))
    return record.ReleaseRecord({**document, "manifest": manifest, "chart": {"files": "QUJD" * (chart // 4)}})


def _rendered() -> bytes:
    objects = tuple(_tab(number, size=1_000) for number in range(27_000))
    return b"=" + as_answer(Manifests("a: b\n" * (6 * MIB), objects, (), "", ()), {})


async def _check(both: Any) -> object:
    return await call_by_size(
        both[0].work + both[1].work, SizeBounds(IN_PLACE, limits=LARGE), check_answer, "h", "e/v2", *both
    )


ORDER = RenderRequest(Path(), "a", "b", {}, Capabilities("v1.34.0", ()))
DOCUMENTS = (
    LargeDocument("admission review", lambda: _review(170_000), partial(read_review, "admission")),
    LargeDocument("conversion review", lambda: _conversion(29_000, 2_000), partial(read_review, "conversion")),
    LargeDocument("small objects", lambda: _conversion(150_000), partial(read_review, "conversion")),
    LargeDocument("answer to a conversion", _converted, verdicts.read_conversion),
    LargeDocument("objects of a conversion", lambda: _objects(29_000, 2_000), _check),
    LargeDocument("record", lambda: packed(_release(60 * MIB, 1).document), record_storage.read_document),
    LargeDocument("manifest of a record", lambda: _release(0, 6_000), record_storage.read_objects),
    LargeDocument("rendered chart", _rendered, partial(read_render, ORDER)),
)
