"""Documents that are larger than they look: aliases, brackets, digits. They are refused before they cost memory.

Level: sandbox."""

import re
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from hookrunner.errors import BadKubeConfig
from hookrunner.kube.cluster_lookup import Lookup
from hookrunner.kube.credentials import load_connection
from hookrunner.settings import KubeSettings
from hookrunner.values import config_sections
from kubetypes import json_values, yaml_values
from kubetypes.bounds import DEPTH, DIGITS, DOCUMENT, SECTIONS, TooLarge
from kubetypes.yaml_values import YAML_1_1, BadDocument, documents
from tests.flows.modules.hooks import configmap
from tests.flows.modules.world import World
from tests.flows.waiting import until
from tests.security.parsers import PARSERS
from tests.tables import each

SECRET = "hunter2"
YAML = [name for name, parser in PARSERS.items() if "yaml" in parser.languages]
JSON = [name for name, parser in PARSERS.items() if "json" in parser.languages]


def bomb(size: int, times: int) -> str:
    """A list whose second item is the first one, which has that many bytes, that many times."""
    return f"a: &a '{SECRET}{'x' * size}'\nb: [{', '.join(['*a'] * times)}]\n"


def many(times: int) -> str:
    """Ten items, ten times, and so on."""
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    return "\n".join([*rows, *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, times))])


YAML_ATTACKS = {
    "bytes": (bomb(200_000, 400), "MiB, aliases"),
    "values": (many(9), "values, aliases"),
    "deep": ("a: " + "[" * 100_000, "too deep"),
    "deep by aliases": (f"a: &a {'[' * 150}{']' * 150}\nb: {'[' * 150}*a{']' * 150}", "too deep"),
    "deep blocks": ("- " * 3_000, "too deep"),
}
JSON_ATTACKS = {
    # The sandbox, which takes 3 MiB, has too many bytes of it already.
    "values": ('{"a":[' + "{}," * DOCUMENT.values + "{}]}", "values|3 MiB"),
    "deep": (f'{{"a":"{SECRET}","b":' + "[" * 900 + "]" * 900 + "}", "too deep|max depth"),
}


YAML_BOUNDS = {("--config", "deep"): "more than 20,000 values"}
JSON_BOUNDS = {("--config", "values"): "more than 1 MiB"}
"""A hook's configuration has lower bounds, which these exceed first."""


READERS_OF_YAML_ALONE = {"kustomization"}
"""They read JSON as YAML, where 2,000,000 values take seconds. `YAML_ATTACKS` has as many by aliases; that values
without aliases count, too, is shown by tests/kubetypes/test_yaml_values.py."""


def json_attacks() -> Iterator[tuple[str, str]]:
    """Each reader with each attack."""
    rows = product(JSON, JSON_ATTACKS)
    return (row for row in rows if row[1] != "values" or row[0] not in READERS_OF_YAML_ALONE)


def assert_refused(name: str, text: str, reason: str) -> None:
    """This reader refuses the text for this reason, and quotes no value of it."""
    parser = PARSERS[name]
    with pytest.raises(parser.refusals) as refused:
        parser.read(text.encode())
    told = str(getattr(refused.value, "text", None) or refused.value)
    assert re.search(reason, told)
    assert SECRET not in told


@each("attack", YAML_ATTACKS)
@pytest.mark.parametrize("name", YAML)
def test_no_yaml_reader_accepts_more_values_than_its_bound(name: str, attack: str) -> None:
    text, reason = YAML_ATTACKS[attack]
    assert_refused(name, text, YAML_BOUNDS.get((name, attack), reason))


@each(("name", "attack"), [*json_attacks()])
def test_no_json_reader_accepts_more_values_than_its_bound(name: str, attack: str) -> None:
    text, reason = JSON_ATTACKS[attack]
    assert_refused(name, text, JSON_BOUNDS.get((name, attack), reason))


@each("digits", ["9" * 1_000_000, "0x" + "f" * 1_000_000, "0." + "1" * 1_000_000, "1e" + "9" * 1_000_000])
def test_a_number_of_a_million_digits_is_refused_and_not_computed(digits: str) -> None:
    with pytest.raises(BadDocument, match=f"line 1: a number of more than {DIGITS:,} characters; quote it"):
        list(documents(f"a: {digits}".encode(), YAML_1_1))
    assert list(documents(f"a: '{digits}'".encode(), YAML_1_1)) == [{"a": digits}]


@each("digits", ["9" * 1_000_000, "1e" + "9" * 1_000_000])
def test_a_number_that_json_cannot_hold_is_refused(digits: str) -> None:
    with pytest.raises(ValueError, match="number is infinity"):
        json_values.loads(digits)


def test_documents_just_within_the_bounds_are_read() -> None:
    nested = "[" * DEPTH + "]" * DEPTH
    assert list(documents(nested.encode(), YAML_1_1)) == [json_values.loads(nested)]
    with pytest.raises(TooLarge):
        json_values.loads(f"[{nested}]")
    with pytest.raises(BadDocument):
        list(documents(f"[{nested}]".encode(), YAML_1_1))


def test_brackets_and_commas_in_texts_are_no_values_and_no_depth() -> None:
    text = "[" * 3_000_000 + '{}],\\"' * 100
    assert json_values.loads(f'["{text}", 1]') == [text.replace('\\"', '"'), 1]


def test_all_documents_of_a_stream_share_one_bound() -> None:
    document = bomb(200_000, 30)
    with pytest.raises(BadDocument, match="more than 64 MiB") as refused:
        list(documents("---\n".join([document] * 20).encode(), YAML_1_1))
    assert refused.value.number == 11


def test_all_sections_share_one_bound_without_refused_ones() -> None:
    """A ConfigMap of many bombs is one bomb. The sections that are left are read."""
    most = bomb(100_000, SECTIONS.size // 100_000 // 2)
    found = config_sections.parse({"a": most, "b": most, "c": bomb(100_000, 3_000), "d": "x: 1"})
    assert list(found.problems) == ["b", "c"]
    assert found.sections["d"] == {"x": 1}


@pytest.mark.slow
def test_thousands_of_yaml_merges_take_less_than_quadratic_time() -> None:
    """Counted in steps: four times as many merges must not take ten times as long."""

    def seconds(times: int) -> float:
        rows = "".join(f"  <<: {{k{n}: 1}}\n" for n in range(times))
        listed = ", ".join(f"{{k{n}: 1}}" for n in range(times))
        began = time.process_time()
        assert len(next(documents(f"a:\n{rows}".encode(), YAML_1_1))["a"]) == times
        assert len(next(documents(f"<<: [{listed}]".encode(), YAML_1_1))) == times
        return time.process_time() - began

    assert min(seconds(16_000) for _ in range(2)) < 10 * min(seconds(4_000) for _ in range(3))


def test_positions_in_a_text_are_searched_within_a_bound() -> None:
    with pytest.raises(TooLarge, match="nested too deep"):
        list(yaml_values.events("[" * 100_000))


@pytest.mark.slow
@pytest.mark.usefixtures("forking")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: " + "[" * 2_000, "nested too deep"),
        ("a: 1:" + "9:" * 500_000 + "9", "a number of more than 1,000 characters"),
        ("clusters: [{name: m, cluster: {server: 'https://127.0.0.1'}}]\n"
         "contexts: [{name: m, context: {cluster: m, user: m}}]\ncurrent-context: m\nusers:\n"
         "- {name: m, user: {token: t, a: &a " + "x" * 60_000 + ", b: [" + "*a , " * 400 + "]}}\n",
         "more than 16 MiB, aliases written out"),
    ],
)  # fmt: skip
async def test_a_kubeconfig_has_bounds(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "config").write_text(text)
    settings = KubeSettings(config=tmp_path / "config", derived=tmp_path / "derived")
    with pytest.raises(BadKubeConfig, match=reason):
        await load_connection(Lookup(settings))


# ── on the running program ────────────────────────────────────────────────────────────────────────────────────────

REFUSED = "line 2: more than 4 MiB, aliases"
MEMORY = 400 << 10
"""Kibibytes that the program may have had at most; the chart gives it twice as much."""


async def test_a_yaml_bomb_in_the_configmap_is_refused_without_memory_and_after_a_restart(world: World) -> None:
    world.module("010-a", {"templates/cm.yaml": configmap("a", "x: {{ .Values.a.x | quote }}")})
    await world.configure(aEnabled="true", a="x: 1")
    await world.start()
    await world.becomes("a", x="1")
    await world.configure(a=bomb(100_000, 56_000))  # 324 KB that stand for 5.6 GB
    refused = lambda: REFUSED in world.operator.get("/readyz?output=json")[1]  # noqa: E731
    await until(refused, "a refused section")
    await world.operator.ready()  # the last good section counts
    assert _most_memory(world.operator.pid) < MEMORY
    await world.again(ready=False)
    await until(refused, "a refused section")
    await world.operator.ready()
    assert _most_memory(world.operator.pid) < MEMORY
    await world.configure(a="x: 2")
    await world.becomes("a", x="2")
    assert SECRET not in (world.directory / "log").read_text()


def _most_memory(pid: int) -> int:
    """Of a process so far, in KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
