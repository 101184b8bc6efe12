"""What a real API server answered, kept beside the tests: one compressed file for each table of questions.

The real server is asked once. Each run compares the sandbox with the kept answers, in milliseconds and without a
cluster; a live run asks the server again and shows where its answer is another one than the kept one.

    python -m tests.kubesandbox.recording record [TEST FILE…]  # ask the real server, write what it answers
    python -m tests.kubesandbox.recording show NAME [TEXT]     # the answers of a file, to questions with that text
"""

import gzip
import json
import re
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

RECORDED = Path(__file__).with_name("recorded")
RECORD = "python -m tests.kubesandbox.recording record"
SHOWN = 400
BEFORE = 100
"""Characters of an answer that a difference shows, and how many of them are before it."""

VARYING = {"uid": "UID", "resourceVersion": "RV", "clusterIP": "IP", "nodePort": "PORT", "healthCheckNodePort": "PORT"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
AGE = re.compile(r"(\d+[ydhms]){1,2}")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
GENERATED = re.compile(r"-[b-df-hj-np-tv-xz2456789]{5}\b")
ADDRESS = re.compile(r"\b10\.96\.\d+\.\d+\b")
NODE_PORT = re.compile(r":3[0-2]\d{3}/")
SET_ASIDE = ("managedFields", "annotations", "finalizers", "taints", "status", "storageVersionHash")
"""Fields that controllers write at a moment of their own, and a hash of names that are new each time. A table that is
about them compares them itself."""


class NotRecorded(AssertionError):
    """The real server has not been asked this."""


class Recording:
    """The answers to the questions of one table."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._file = RECORDED / f"{name}.json.gz"
        self._kept: dict[str, Any] = json.loads(gzip.decompress(self._file.read_bytes())) if self._file.exists() else {}
        self._asked: dict[str, Any] = {}

    @property
    def questions(self) -> set[str]:
        """Those that have an answer."""
        return set(self._kept)

    def answer(self, question: str) -> Any:
        """A copy of the kept answer. Raises NotRecorded."""
        try:
            return orjson.loads(orjson.dumps(self._kept[question]))
        except KeyError:
            raise NotRecorded(f"{question} is a new question, or a changed one: {RECORD}") from None

    def note(self, question: str, answer: Any) -> None:
        """Take what the real server has answered now; of several answers to one question the last one counts."""
        self._asked[question] = answer

    def differences(self) -> dict[str, str]:
        """Questions that are answered otherwise now than they were, apart from what is never the same twice, with both
        answers. A question that has no answer yet is one of them."""
        return {
            question: f"{question}\n{_where_apart(self._kept.get(question), answer)}"
            for question, answer in self._asked.items()
            if question not in self._kept or comparable(self._kept[question]) != comparable(answer)
        }

    def write(self) -> bool:
        """Keep the new answers instead of the old ones, if they differ; whether they did."""
        if not self._asked or (self._asked.keys() == self._kept.keys() and not self.differences()):
            return False
        lines = (f"{json.dumps(key)}: {json.dumps(self._asked[key])}" for key in sorted(self._asked))
        text = "{\n" + ",\n".join(lines) + "\n}\n"
        self._file.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
        return True

    def finish(self, mode: str) -> None:
        """End a table that has asked the real server: write its answers, or fail where they are other ones."""
        if mode == "record":
            print(f"{self.name}: {'written' if self.write() else 'as it was'}")
            return
        different = self.differences().values()
        assert not different, "\n".join([f"the real server answers otherwise ({RECORD}):", *different])


def digest(*values: object) -> str:
    """Eight characters that are the same for the same values."""
    return sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:8]


def same_each_time(value: Any, key: str = "") -> Any:
    """The value with what is never the same twice replaced by a word."""
    if isinstance(value, dict):
        return {name: same_each_time(item, name.rpartition(".")[2]) for name, item in value.items()}
    if isinstance(value, list):
        return ["IP"] if key == "clusterIPs" and value != ["None"] else [same_each_time(item, key) for item in value]
    if key in VARYING and value not in ("", "None", "<none>"):
        return VARYING[key]
    if key == "cells" and AGE.fullmatch(str(value)):
        return "AGE"
    if isinstance(value, str):
        return UID.sub("UID", TIME.sub("TIME", value))
    return value


def comparable(answer: Any) -> Any:
    """What two answers to one question must have in common."""
    if isinstance(answer, dict) and (causes := (answer.get("details") or {}).get("causes")):
        # In an order of Go's maps; the message repeats them.
        return {
            "reason": answer.get("reason"),
            "causes": sorted(json.dumps(comparable(one), sort_keys=True) for one in causes),
        }
    if isinstance(answer, dict):
        if answer.get("kind") == "Table":  # rows show what controllers may have changed; their table compares them
            answer = answer | {"rows": len(answer.get("rows") or ())}
        return {key: comparable(same_each_time(one, key)) for key, one in answer.items() if key not in SET_ASIDE}
    if isinstance(answer, list):
        return [comparable(one) for one in answer]
    if not isinstance(answer, str):
        return answer
    return NODE_PORT.sub(":…/", GENERATED.sub("-…", ADDRESS.sub("…", same_each_time(answer))))


def _where_apart(kept: Any, now: Any) -> str:
    """Both answers, from shortly before the place where they differ."""
    texts = [one if isinstance(one, str) else json.dumps(comparable(one), sort_keys=True) for one in (kept, now)]
    apart = next((place for place, (one, other) in enumerate(zip(*texts, strict=False)) if one != other), 0)
    start = max(apart - BEFORE, 0)
    return "\n".join(
        f"    {word} {text[start : start + SHOWN]}" for word, text in zip(("kept:", "now: "), texts, strict=True)
    )


def show(name: str, text: str = "") -> None:
    """Print the answers of a file to the questions that have the text."""
    kept = json.loads(gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes()))
    for question, answer in kept.items():
        if text in question:
            print(f"=== {question}\n{answer if isinstance(answer, str) else json.dumps(answer, indent=1)}")


def main(command: str, *words: str) -> int:
    if command == "show":
        show(*words)
        return 0
    files = words or (str(Path(__file__).parent.relative_to(Path.cwd())),)
    # The answers of a file are written together, so one process asks them.
    return pytest.main(
        ["-n0", "-q", "-s", "--cluster", "--live=record", "-m", "live and not nightly and not soak", *files]
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
