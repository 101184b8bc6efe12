"""Warnings for a client, as headers of the answer.

https://kubernetes.io/docs/reference/using-api/api-concepts/#warnings
"""

import json
import re
from collections.abc import Iterator, Sequence

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
ALL, EACH = 4096, 256
"""Characters that all warnings of an answer may have; if they have more, characters that each may have."""


def headers(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each text once, quoted; a header holds no control characters, so texts with some are dropped."""
    said = [text for text in dict.fromkeys(texts) if text and not CONTROL.search(text)]
    most = EACH if sum(map(len, said)) > ALL else None
    for text in said:
        yield "Warning", f"299 - {json.dumps(text[:most], ensure_ascii=False)}"
