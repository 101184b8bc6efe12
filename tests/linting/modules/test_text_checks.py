"""Fields whose texts become something else than texts. Here functions render; `test_module_linter.py` and
`../test_addon_linter.py` have charts and packages.

Level: pure."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from hookrunner.errors import BadManifest, RenderFailed
from hookrunner.linting.modules.text_checks import TextSubject, check_texts
from hookrunner.linting.text_fields import SectionRules
from hookrunner.manifests.sourced_object import read_objects
from hookrunner.values.schemas import schema_files
from kubetypes.json_values import JSON

Make = Callable[[JSON], list[JSON]]
SCHEMA = """type: object
properties:
  a: {type: string, default: ""}
  b: {type: string, default: ""}
  c: {type: array, items: {type: string}}
  on: {type: boolean}
  short: {type: string, pattern: "^[a-z0-9]*$"}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n"


def config(data: JSON, name: str = "web") -> JSON:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


class Subject:
    """Renders by a function and counts the renders."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.renders = 0
        (directory / "openapi").mkdir()
        (directory / schema_files.CONFIG).write_text(SCHEMA)

    async def check(self, make: Make, section: JSON | None = None) -> list[tuple[int, str]]:
        """Line and code of each remark."""

        async def render(section: JSON) -> list[JSON]:
            self.renders += 1
            return make(section)

        schema = schema_files.load(self.directory, "web").config
        assert schema
        section = {"a": "", "b": ""} if section is None else section
        rules = [SectionRules(schema.node, schema.problems, section)] * 2
        remarks = await check_texts(TextSubject(self.directory, rules, section, render, is_chart=True))
        assert {remark.path for remark in remarks} <= {schema_files.CONFIG}
        return [(remark.place[0], remark.code) for remark in remarks]


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    return Subject(tmp_path)


def read(text: str) -> list[JSON]:
    return [source.obj for source in read_objects({"a.yaml": text})]


async def test_texts_that_are_carried_take_three_renders(subject: Subject) -> None:
    assert await subject.check(lambda section: [config(section)]) == []
    assert subject.renders == 3


async def test_a_text_that_writes_an_object_is_found_among_others(subject: Subject) -> None:
    def make(section: JSON) -> list[JSON]:
        extra = [config({}, name=line) for line in section["b"].splitlines()[1:]]
        return [config(section), *extra]

    assert await subject.check(make) == [(4, "text-escapes")]


async def test_a_text_without_quotes_is_found(subject: Subject) -> None:
    def make(section: JSON) -> list[JSON]:
        return [config(section), *read(CONFIG.replace("web", "b") + f"  {{b: x{section['b']}}}\n")]

    assert await subject.check(make) == [(4, "text-unquoted")]


async def test_a_text_that_becomes_a_document_escapes(subject: Subject) -> None:
    assert await subject.check(lambda section: read(CONFIG + f"  b: |\n    {section['b']}\n")) == [(4, "text-escapes")]


async def test_a_changed_text_is_found_although_it_stands_in_another_place_too(subject: Subject) -> None:
    def make(section: JSON) -> list[JSON]:
        return [config({**section, "again": section["a"].replace("#", "")})]

    assert await subject.check(make) == [(3, "text-changed")]


async def test_fields_that_name_objects_need_a_pattern(subject: Subject) -> None:
    def make(section: JSON) -> list[JSON]:
        return [config(section, name=f"web-{section['a']}"), config({}, name=section.get("short", "s"))]

    assert await subject.check(make) == [(3, "name-unchecked")]


async def test_what_is_done_to_harmless_texts_too_is_no_finding(subject: Subject) -> None:
    def make(section: JSON) -> list[JSON]:
        lines = {f"line{number}": line for number, line in enumerate(section["a"].split("\n"))}
        digest = hashlib.sha256(section["b"].encode()).hexdigest()[:10]
        return [config(lines | {"cut": section["b"][:9]}, name=f"web-{digest}")]

    assert await subject.check(make) == []


async def test_hidden_fields_are_tried_without_others_and_with_switches(subject: Subject) -> None:
    def make(section: JSON) -> list[JSON]:
        shown = section["b"] if section["a"] else section.get("c")
        return [
            config([shown]),
            *(read(CONFIG + f"  {{c: {section['c'][-1]}}}\n") if section.get("on") and section.get("c") else []),
        ]

    assert await subject.check(make) == [(5, "text-unquoted")]


async def test_a_template_may_refuse_a_text(subject: Subject) -> None:
    def make(section: JSON) -> list[JSON]:
        if not section["a"].isalnum() and section["a"]:
            raise RenderFailed("no such mode")
        if section["b"]:
            raise RenderFailed("never")
        if "#" in "".join(section.get("c", ())):
            raise BadManifest("not YAML")
        return [config(section)]

    assert await subject.check(make) == [(5, "text-unquoted")]


async def test_what_is_never_rendered_is_given_up(subject: Subject) -> None:
    def make(section: JSON) -> list[JSON]:
        raise RenderFailed("no Service")

    assert await subject.check(make) == []
    assert subject.renders <= 10
