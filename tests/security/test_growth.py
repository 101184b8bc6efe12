"""Work on documents from outside grows as they do, and no step of the event loop takes long at their bounds.

CPU time and memory are compared with those of a smaller document in the same run, so that a busy machine changes
neither ratio much: linear work takes ten times as much for ten times the items, quadratic work a hundred times. A time
that is too long is measured again, since a neighbour on the machine may have come or left in between. The length of a
step is no such ratio, and is measured on a quiet machine alone.

Level: pure.
"""

import pytest

from tests.security.growth import ENTRIES, Entry, longest_step, unit
from tests.security.large_documents import DOCUMENTS, LargeDocument
from tests.tables import each

LINEAR = 30
SHORTEST = 0.0005
"""Seconds; shorter times say nothing."""
FEW_BYTES = 20_000
STEP = 10
"""Times as long as `orjson.loads` of 1 MiB: tens of milliseconds."""
TRIES = 3


@pytest.mark.slow
@each("entry", ENTRIES)
def test_time_grows_as_the_document_does(entry: Entry) -> None:
    small = max(min(entry.seconds(entry.first * 10)), SHORTEST)
    large = entry.seconds(entry.first * 100, tries=3 * TRIES)
    assert any(seconds < LINEAR * small for seconds in large), f"{entry.name}: grows faster than the document"


@pytest.mark.slow
@each("entry", ENTRIES)
def test_memory_grows_as_the_document_does(entry: Entry) -> None:
    small, large = (entry.memory(entry.first * times) for times in (2, 20))  # to trace each object takes time
    assert large < LINEAR * max(small, FEW_BYTES), f"{entry.name}: {small:,} bytes, then {large:,}"


@pytest.mark.nightly
@each("entry", ENTRIES)
def test_a_step_of_the_event_loop_is_short_at_the_largest_document(entry: Entry) -> None:
    ratios = (min(entry.seconds(entry.most)) / unit() for _ in range(TRIES))
    assert any(ratio < STEP for ratio in ratios), f"{entry.name}: takes too long for the event loop"


@pytest.mark.nightly
@each("document", DOCUMENTS)
async def test_a_step_of_the_event_loop_is_short_also_where_it_is_not_the_loop_that_reads(
    document: LargeDocument,
) -> None:
    content = document.make()
    ratios = [await longest_step(document.work(content)) / unit() for _ in range(TRIES)]
    assert min(ratios) < STEP, f"{document.name}: takes too long for the event loop"
