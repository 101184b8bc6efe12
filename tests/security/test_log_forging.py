"""Names, values, requests and output of others in the log: one record each, whose fields they do not change.

Level: sandbox."""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.parse import quote

import orjson
import pytest

from tests.flows.scripts import hook
from tests.security.attacked import VALIDATING, attacked

FORGED = '{"level":"fatal","logger":"forged","msg":"forged","time":"2020-01-01T00:00:00Z"}'
LINE = "time=2020-01-01T00:00:00Z level=fatal logger=forged msg=forged"
ATTACKS = [
    f"x\n{FORGED}\n",
    f"x\r\n{FORGED}\r\n",
    f"x\n{LINE}\n",
    f'x" {LINE} y="',
    f'x\\" {LINE}',
    '","level":"fatal","logger":"forged","x":"',
    f"x\u2028{LINE}\u0085{LINE}\x0b{LINE}\x0c{LINE}",
    f"x\x1b[2K\r{LINE}",
    "x\tforged",
    "\\",
]
KEYS = [*ATTACKS, "", "level", "msg", "time", "a\x1b[2J\x9b\u202eb", "a b=c"]
WRITER = """
import json, sys
from hookrunner import log
kinds, attacks, keys = json.load(sys.stdin)
for kind in kinds:
    log.configure(kind, "info", sys.stdout)
    for text in attacks:
        try:
            raise ValueError(text)
        except ValueError:
            log.get("ours").exception(text, first=text, second=[text], third={text: text})
    for key in keys:
        log.get("ours").info("m", **{f"hook_{key}": "value"})
    log.flush(9)
    print(sys.argv[1], flush=True)
"""
PAIR = re.compile(r'([^\s="]+)=("(?:[^"\\]|\\.)*"|[^\s="]*)(?: |$)')

BEGIN = re.compile(r"\d\d:\d\d:\d\d {24}(error: |m  )")


KINDS = ("json", "text", "color")
END = "-- the end of one kind --"


@cache
def written() -> dict[str, list[str]]:
    """What the log has of all attacks, by its kind and by lines. One process writes all kinds."""
    given = json.dumps([KINDS, ATTACKS, KEYS])
    ended = subprocess.run([sys.executable, "-c", WRITER, END], input=given, capture_output=True, text=True)
    assert ended.stderr == ""
    *texts, rest = re.sub(r"\x1b\[\d*m", "", ended.stdout).split(f"{END}\n")
    assert rest == ""
    return {kind: text.splitlines() for kind, text in zip(KINDS, texts, strict=True)}


@pytest.mark.slow
def test_a_line_of_json_is_a_record_with_our_fields() -> None:
    records = [json.loads(line) for line in written()["json"]]
    assert [(record["logger"], record["msg"]) for record in records] == [
        *(("ours", text) for text in ATTACKS),
        *(("ours", "m") for _ in KEYS),
    ]
    assert [record["first"] for record in records[: len(ATTACKS)]] == ATTACKS


@pytest.mark.slow
def test_a_line_of_text_is_a_record_with_our_fields() -> None:
    lines = written()["text"]
    assert len(lines) == len(ATTACKS + KEYS)
    for line in lines:
        pairs = PAIR.findall(line)
        assert "".join(PAIR.split(line)[::3]) == ""
        names = [name for name, _ in pairs]
        assert len(set(names)) == len(names)
        assert dict(pairs)["logger"] == "ours"
        assert len(names) == (8 if "first" in names else 5)


@pytest.mark.slow
def test_on_a_terminal_only_a_record_begins_a_line() -> None:
    starts = [line for line in written()["color"] if not line.startswith("    ")]
    assert len(starts) == len(ATTACKS + KEYS)
    assert [line for line in starts if not BEGIN.match(line)] == []


# ── the running program ───────────────────────────────────────────────────────────────────────────────────────────────

OURS = {"hook": "forged", "queue": "forged", "task": "forged", "output": "forged", "time": "forged"}
"""Fields that a hook's own record may try to set."""
BODY = f"""cat <<'EOF'
{json.dumps(json.loads(FORGED) | OURS)}
EOF
jq -r '.[0].review.request.name' "$BINDING_CONTEXT_PATH" >&2
jq '{{allowed: false, message: .[0].review.request.name}}' "$BINDING_CONTEXT_PATH" > "$VALIDATING_RESPONSE_PATH"
"""


@pytest.mark.usefixtures("launcher")
async def test_a_request_makes_no_record_and_a_hook_only_one_of_its_own(tmp_path: Path) -> None:
    """A hook may say its level and message, also when it repeats what an object says; whose output it is stays."""
    async with attacked(tmp_path, {"h.sh": hook(VALIDATING, BODY)}, "--log-level=debug") as target:
        for text in ATTACKS:
            request = {"uid": text, "name": text, "namespace": text, "operation": text, "userInfo": {"username": text}}
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
            assert (await target.review(orjson.dumps(review)))[0] == 200
            assert (await target.review(b"{}", f"/hooks/{quote(text)}?timeout={quote(text)}"))[0] == 404
            assert target.program.get(f"/{quote(text)}?{quote(text)}")[0] == 404
        records = target.program.logs()
    forged = [record for record in records if "forged" in (record["msg"], record.get("logger"), record["time"])]
    assert len(forged) >= len(ATTACKS)
    whose = {(record.get("logger"), record["hook"], record["output"] in ("stdout", "stderr")) for record in forged}
    assert whose == {(None, "h.sh", True)}
    assert [record for record in records if record["time"].startswith("2020")] == []
