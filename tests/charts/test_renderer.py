"""The renderer and its worker processes: what is rendered, and templates that never end. Level: pure."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from signal import SIGALRM

import orjson
import pytest
import pytest_asyncio

from hookrunner.charts.renderer import Renderer, RenderLimits, RenderProcess, explain_end, request
from hookrunner.errors import BadChart, RenderFailed
from hookrunner.process.worker import WorkerLost
from tests.charts.conftest import CHART, Write, configmap, order
from tests.tables import each

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENDLESS = "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"

RECURSIVE = "{{ define `r` }}{{ include `r` . }}{{ end }}{{ include `r` . }}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def renderer() -> AsyncIterator[Renderer]:
    async with Renderer(RenderLimits(deadline=20)) as renderer:
        yield renderer


HOSTILE = "a\n\rkey: y\r---\rb: c\x07\x7f\ufffed"
CARRIES = {
    "indent": "\n  x: |-\n    {{- .Values.demo.x | nindent 4 }}\n  z: {{ .Values.demo.z }}",
    "quote": "\n  x: {{ .Values.demo.x | quote }}\n  z: {{ .Values.demo.z }}",
    "json": "{{ toJson .Values.demo }}",
}
DEFINED = "{{ define `d` }}x: |-\n  {{- .Values.demo.x | nindent 2 }}\nz: {{ .Values.demo.z }}\n{{ end }}"


async def test_no_text_of_a_value_becomes_structure(renderer: Renderer, write: Write) -> None:
    templates = {f"templates/{name}.yaml": configmap(name) + f"data: {text}" for name, text in CARRIES.items()}
    rendered = await renderer.render(
        order(write({"Chart.yaml": CHART, **templates}), {"demo": {"x": HOSTILE, "z": "end"}})
    )
    found = {obj["metadata"]["name"]: obj["data"] for obj in rendered.objects}
    assert found == {name: {"x": HOSTILE, "z": "end"} for name in CARRIES}


@each("text", ["a\n\u2028key: y", "a\nb\u2028", "a\n\u2029", "a\x85--- b", "a\x7f"])
async def test_texts_that_to_yaml_makes_structure_of_are_refused(renderer: Renderer, write: Write, text: str) -> None:
    template = configmap("a") + "data:\n  {{- toYaml .Values.demo | nindent 2 }}\n"
    directory = write({"Chart.yaml": CHART, "templates/a.yaml": template})
    with pytest.raises(RenderFailed, match=r"value demo\.x: a control character or a line end of YAML"):
        await renderer.render(order(directory, {"demo": {"x": text, "z": "end"}}))


async def test_texts_that_from_yaml_makes_structure_of_are_refused(renderer: Renderer, write: Write) -> None:
    template = configmap("a") + DEFINED + "data: {{ toJson (include `d` . | fromYaml) }}\n  # {{ .Values.demo.y }}\n"
    directory = write({"Chart.yaml": CHART, "templates/a.yaml": template})
    [found] = (await renderer.render(order(directory, {"demo": {"x": "a\r\nb", "z": "c", "y": "\r\u2028"}}))).objects
    assert found["data"] == {"x": "a\nb", "z": "c"}
    with pytest.raises(RenderFailed, match=r"value demo\.x: a control character or a line end of YAML"):
        await renderer.render(order(directory, {"demo": {"x": "a\rhostile: b", "z": "c", "y": ""}}))


async def test_a_chart_becomes_objects_notes_and_a_manifest(renderer: Renderer, write: Write) -> None:
    directory = write(
        {
            "Chart.yaml": CHART,
            "values.yaml": "demo: {size: 1, kept: yes}\n",
            "templates/a.yaml": configmap("a", "  size: {{ .Values.demo.size | quote }}\n"),
            "templates/_helpers.tpl": "{{ define `x` }}y{{ end }}",
            "templates/NOTES.txt": "Hello {{ .Release.Name }} {{ .Values.global.x }}",
        }
    )
    rendered = await renderer.render(
        order(directory, {"global": {"x": 1}, "demo": {"size": 2}}, labels={"heritage": "h"})
    )
    [found] = rendered.objects
    assert found["metadata"] == {"name": "a", "labels": {"heritage": "h"}}
    assert found["data"] == {"size": "2"}
    assert rendered.notes == "Hello demo 1"
    assert rendered.manifest.startswith("---\n# Source: demo/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\n")
    assert rendered.chart["metadata"]["version"] == "1.2.3"


async def test_a_module_without_chart_yaml_is_a_synthetic_chart(renderer: Renderer, write: Write) -> None:
    directory = write(
        {
            "templates/a.yaml": configmap("{{ .Chart.Name }}-{{ .Chart.Version }}", '  f: {{ .Files.Get "f.txt" }}\n'),
            "f.txt": "text",
            "hooks/run.sh": "#!/bin/sh",
        }
    )
    rendered = await renderer.render(order(directory, name="plain"))
    assert rendered.objects[0]["metadata"]["name"] == "plain-0.2.0"
    assert rendered.objects[0]["data"] == {"f": "text"}
    assert [file["name"] for file in rendered.chart["files"]] == ["f.txt"]


async def test_a_changed_file_is_seen_by_the_next_render(renderer: Renderer, write: Write) -> None:
    write({"Chart.yaml": CHART, "templates/a.yaml": configmap("before")})
    directory = write({})
    await renderer.render(order(directory))
    write({"templates/a.yaml": configmap("afterwards")})
    assert (await renderer.render(order(directory))).objects[0]["metadata"]["name"] == "afterwards"


@pytest.mark.parametrize(
    ("template", "error", "message"),
    [
        (
            "\na: {{ .Values.b.c }}",
            RenderFailed,
            r"^demo/templates/a.yaml:2:13 at <.Values.b.c>: nil pointer evaluating",
        ),
        ("a: {{ required `need b` .Values.b }}", RenderFailed, r"^demo/templates/a.yaml:1:6: need b$"),
        (
            "a: {{ include `no` . }}",
            RenderFailed,
            r"^demo/templates/a.yaml:1:6 at <include `no` .>: no template \"no\"$",
        ),
        ("a:\n\n{{ if }}", BadChart, r"^demo/templates/a.yaml:3: missing value for if$"),
        ("a: {{ nope }}", BadChart, r'^demo/templates/a.yaml:1: function "nope" not defined$'),
        (
            RECURSIVE,
            RenderFailed,
            r"a.yaml:1:19 at <include `r` .>: … rendering template has a nested reference name: r",
        ),
        (
            "a: 1\n---\na: b: c",
            RenderFailed,
            r"^demo/templates/a.yaml, document 1: an object needs apiVersion and kind",
        ),
        ("\n---\na: b: c", RenderFailed, r"^demo/templates/a.yaml, document 1: not YAML: line 1: mapping values"),
        ("- 1", RenderFailed, r"^demo/templates/a.yaml, document 1: not an object but a list of 1 item$"),
        (configmap("a") + "x: " + "[" * 254 + "]" * 254, RenderFailed, "nested too deep: more than 230 maps and lists"),
    ],
)
async def test_errors_name_the_template(
    renderer: Renderer, write: Write, template: str, error: type[Exception], message: str
) -> None:
    directory = write({"Chart.yaml": CHART, "templates/a.yaml": template})
    with pytest.raises(error, match=message):
        await renderer.render(order(directory))


@pytest.mark.slow
async def test_endless_template_does_not_block_other_modules(write: Write) -> None:
    directory = write({"Chart.yaml": CHART, "templates/a.yaml": "{{ if .Values.hang }}" + ENDLESS + "{{ end }}"})
    async with Renderer() as renderer:
        hanging = asyncio.create_task(renderer.render(order(directory, {"hang": True})))
        waiting = asyncio.create_task(renderer.render(order(directory)))
        assert (await waiting).objects == ()
        assert not hanging.done()
        hanging.cancel()
        await asyncio.wait([hanging])


@pytest.mark.slow
async def test_a_template_that_never_ends_costs_its_worker_and_nothing_else(write: Write) -> None:
    directory = write({"Chart.yaml": CHART, "templates/a.yaml": "{{ if .Values.hang }}" + ENDLESS + "{{ end }}"})
    for deadline in (0.3, 3, 30):  # so long may the other render take, if the machine stands still
        async with Renderer(RenderLimits(deadline=deadline)) as renderer:
            with pytest.raises(RenderFailed, match=f"not done within {deadline:g} s"):
                await renderer.render(order(directory, {"hang": True}))
            with suppress(RenderFailed):
                assert (await renderer.render(order(directory))).objects == ()
                return
    pytest.fail("after a render that was ended no other is done")


@pytest.mark.slow
async def test_a_template_that_takes_all_memory_ends_its_worker(write: Write) -> None:
    eat = '{{ repeat 400000000 "x" }}'
    directory = write({"Chart.yaml": CHART, "templates/a.yaml": "{{ if .Values.eat }}" + eat + "{{ end }}"})
    async with Renderer(RenderLimits(memory=100 << 20)) as renderer:
        with pytest.raises(RenderFailed, match=r"render worker died \(.*(memory|SIGSEGV)"):
            await renderer.render(order(directory, {"eat": True}))
        assert (await renderer.render(order(directory))).objects == ()


@pytest.mark.slow
async def test_killed_idle_worker_is_replaced(renderer: Renderer, write: Write) -> None:
    directory = write({"Chart.yaml": CHART, "templates/a.yaml": configmap("a")})
    await renderer.render(order(directory))
    [child] = renderer._pool.workers
    os.kill(child.worker.process.pid, 9)
    assert (await renderer.render(order(directory))).objects


LAST_WORDS = (
    (
        b"runtime: out of memory: cannot allocate\nfatal error: out of memory\n\ngoroutine 1",
        "fatal error: out of memory",
    ),
    (b"SIGSEGV: segmentation violation\nPC=0x7f m=5\n", "SIGSEGV: segmentation violation"),
    (b"Traceback:\n  a.py\nMemoryError: too large\n", "MemoryError: too large"),
    (b"goroutine 1\n", "exit status -9"),
)


async def test_the_reason_of_a_death_is_the_line_that_names_it() -> None:
    assert [explain_end(words, -9) for words, _ in LAST_WORDS] == [reason for _, reason in LAST_WORDS]


@pytest.mark.slow
async def test_an_idle_worker_ends_and_zero_means_no_deadline(write: Write) -> None:
    directory = write({"templates/a.yaml": configmap("a")})
    async with Renderer(RenderLimits(deadline=0, idle=0.01)) as renderer:
        await renderer.render(order(directory))
        [child] = renderer._pool.workers
        assert await child.worker.process.wait() == 0
        assert (await renderer.render(order(directory))).objects


async def test_many_renders_at_once_share_a_worker(renderer: Renderer, write: Write) -> None:
    directory = write({"templates/a.yaml": configmap("a-{{ .Values.n }}")})
    rendered = await asyncio.gather(*(renderer.render(order(directory, {"n": number})) for number in range(20)))
    assert [found.objects[0]["metadata"]["name"] for found in rendered] == [f"a-{number}" for number in range(20)]
    assert len([child for child in renderer._pool.workers if not child.worker.is_gone]) == 1


@pytest.mark.slow
async def test_a_cancelled_render_leaves_no_answer_for_the_next(write: Write) -> None:
    directory = write({"templates/a.yaml": "{{ if .Values.hang }}" + ENDLESS + "{{ end }}" + configmap("a")})
    async with Renderer() as renderer:
        await renderer.render(order(directory))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(renderer.render(order(directory, {"hang": True})), 0.1)
        assert (await renderer.render(order(directory))).objects


@pytest.mark.slow
async def test_a_library_that_does_not_load_is_named_with_its_platforms(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helm_python.py").write_text("raise OSError('made for another system')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    async with Renderer() as renderer:
        with pytest.raises(RenderFailed, match=r"made for another system\); it has wheels for Linux with glibc"):
            await renderer.render(order(write({"templates/a.yaml": configmap("a")})))


@pytest.mark.slow
async def test_a_worker_without_a_parent_ends_too(write: Write) -> None:
    """As if the parent were gone: no deadline is checked here."""
    wanted = order(write({"templates/a.yaml": ENDLESS}))
    child = await RenderProcess.start((str(1 << 30), "0.1"), None)
    await child.wait_ready()
    with pytest.raises(WorkerLost, match=f"exit status -{SIGALRM.value}"):
        await child.ask(orjson.dumps(request(wanted, lookup=False)), 0)


@pytest.mark.slow
async def test_prewarmed_worker_renders(write: Write) -> None:
    directory = write({"templates/a.yaml": configmap("a")})
    async with Renderer(RenderLimits(deadline=20)) as renderer:
        renderer.prewarm()
        await _expected(renderer)
        await renderer.render(order(directory))
        assert len(renderer._pool.workers) == 1


async def _expected(renderer: Renderer) -> None:
    """Until a worker is ready, however long that takes."""
    renderer.prewarm()
    assert renderer._prewarming
    await asyncio.wait({renderer._prewarming})


@pytest.mark.slow
async def test_a_render_ends_with_its_renderer(write: Write) -> None:
    directory = write({"templates/a.yaml": ENDLESS})
    async with Renderer() as renderer:
        await _expected(renderer)
        rendering = asyncio.create_task(renderer.render(order(directory)))
        await asyncio.sleep(0)
    with pytest.raises(RenderFailed, match="the render worker was dismissed"):
        await rendering


@pytest.mark.slow
async def test_prewarming_ends_with_the_renderer() -> None:
    async with Renderer() as renderer:
        renderer.prewarm()
        await asyncio.sleep(0)
    assert all(child.worker.is_gone for child in renderer._pool.workers)
