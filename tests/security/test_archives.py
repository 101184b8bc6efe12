"""Small archives that become large: records of releases, packed charts, bodies of requests. Level: sandbox."""

import base64
import gzip
import io
import re
import tarfile
import tracemalloc
from functools import cache
from pathlib import Path

import aiohttp
import orjson
import pytest

from hookrunner.charts import chart_files
from hookrunner.errors import BadChart, ReleaseFailed
from hookrunner.releases.records import record_encoding
from tests.controlplane.processes import free_port
from tests.flows.modules.hooks import configmap
from tests.flows.modules.world import World

MIB = 1 << 20
RECORD = "sh.helm.release.v1.a.v1"


@cache
def bomb(size: int) -> str:
    """A record with so many bytes of nothing, as it is stored."""
    info = {"status": "deployed", "description": " " * size}
    document = {"name": "a", "namespace": "default", "version": 1, "info": info, "chart": {}, "manifest": ""}
    return base64.b64encode(gzip.compress(orjson.dumps(document))).decode()


def most_memory(process: int) -> int:
    """Bytes that a process has had at most."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found[1]) * 1024


@pytest.mark.slow
def test_a_record_that_becomes_too_large_is_refused_before_it_is_unpacked() -> None:
    text = bomb(200 * MIB)
    tracemalloc.start()
    try:
        with pytest.raises(ReleaseFailed, match=r"valid Helm release record: it has more than 67,108,864 bytes when"):
            record_encoding.unpacked(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * record_encoding.MOST_UNPACKED


def test_a_record_that_would_be_refused_is_not_written() -> None:
    document = {"name": "a", "version": 7, "manifest": " " * record_encoding.MOST_UNPACKED}
    with pytest.raises(
        ReleaseFailed, match=r"revision 7 of release a has 67,1\d\d,\d\d\d bytes, and a record may have"
    ):
        record_encoding.packed(document)


@pytest.mark.slow
def test_a_large_record_of_many_objects_that_are_alike_is_read() -> None:
    """5000 ConfigMaps shrink to a hundredth."""
    manifest = "".join(
        f"---\n# Source: a/b.yaml\n{orjson.dumps({'metadata': {'name': n}}).decode()}\n" for n in range(5000)
    )
    manifest *= 60
    assert len(manifest) > 10 * MIB
    document = {"name": "a", "namespace": "n", "version": 1, "info": {"status": "deployed"}, "manifest": manifest}
    assert record_encoding.unpacked(record_encoding.packed(document)) == document


@pytest.mark.slow
async def test_a_record_of_200_mb_is_reported_as_unreadable(world: World) -> None:
    """Its module runs nevertheless; what to do with the record is said where users look."""
    world.module("010-a", {"templates/cm.yaml": configmap("a", "x: z")})
    labels = {"owner": "helm", "name": "a", "version": "1", "status": "deployed"}
    release = base64.b64encode(bomb(200 * MIB).encode()).decode()
    metadata = {"name": RECORD, "labels": labels}
    record = {"metadata": metadata, "type": "helm.sh/release.v1", "data": {"release": release}}
    await world.ask("POST", world.path(resource="secrets"), record)
    await world.configure(aEnabled="true")
    await world.start()
    await world.module_is("a", ready=True)
    assert await world.maps() == {"a": {"x": "z"}}
    [problem] = world.modules()["a"]["records"]
    assert "more than 67,108,864 bytes when it is unpacked" in problem
    assert "delete them, then" in problem
    assert most_memory(world.operator.pid) < 300 * MIB


# ── charts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def packed(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for member, data in members:
            tar.addfile(member, io.BytesIO(data))
    return gzip.compress(archive.getvalue(), 1)


def member(name: str, size: int = 0, **values: object) -> tarfile.TarInfo:
    made = tarfile.TarInfo(f"sub/{name}")
    made.size = size
    for key, value in values.items():
        setattr(made, key, value)
    return made


CHARTS = {
    "many files of zeros": lambda: packed([(member(f"f{n}", 5 * MIB), bytes(5 * MIB)) for n in range(21)]),
    "a name of zeros": lambda: gzip.compress(
        tarfile.TarInfo("x").create_pax_global_header({"comment": "0" * 101 * MIB}), 1
    ),
    "many links to one file": lambda: packed(
        [
            (member("f", 5 * MIB), bytes(5 * MIB)),
            *((member(f"l{n}", type=tarfile.LNKTYPE, linkname="sub/f"), b"") for n in range(21)),
        ]
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_a_packed_chart_that_becomes_too_large_is_refused(chart: object, tmp_path: Path) -> None:
    assert callable(chart)
    with pytest.raises(BadChart, match=r"sub\.tgz.*(more than 104,857,600 bytes|larger than Helm loads)"):
        list(chart_files.unpacked("charts/sub.tgz", chart()))


# ── bodies ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_compressed_body_is_not_unpacked_into_memory(world: World) -> None:
    """On the public port and on the debug endpoint."""
    port = free_port()
    debug = f"127.0.0.1:{port}"
    world.operator.flags += (f"--debug-http-addr={debug}",)
    await world.start()
    body = gzip.compress(bytes(200 * MIB))
    before = most_memory(world.operator.pid)
    async with aiohttp.ClientSession() as session:
        for place in (f"{debug}/config/set", f"{debug}/queue/list.json", f"127.0.0.1:{world.operator.port}/metrics"):
            try:
                async with session.request(
                    "POST",
                    f"http://{place}",
                    data=body,
                    headers={"Content-Encoding": "gzip"},
                    timeout=aiohttp.ClientTimeout(30),
                ) as answer:
                    assert answer.status >= 400
            except (TimeoutError, aiohttp.ClientError):
                pass  # cut off
    assert most_memory(world.operator.pid) < before + 100 * MIB
