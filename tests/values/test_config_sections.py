"""The ConfigMap as config, and a section written back. Level: pure."""

import textwrap
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hookrunner.modules import shelf
from hookrunner.values import config_sections
from hookrunner.values.config_sections import Config
from kubetypes.json_values import JSON
from tests.examples import several
from tests.tables import each


@each(
    ("text", "section"),
    [
        ("a: 1\nb: {c: [1, x]}", {"a": 1, "b": {"c": [1, "x"]}}),
        ("{}", {}),
        ("[]", {}),
        ("a: null\nb: {c: null, d: 1}\ne: [null, {f: null}]", {"a": None, "b": {"d": 1}, "e": [None, {"f": None}]}),
        ("n: y\non: yes\nport: 0644", {"n": "y", "on": "yes", "port": 420}),
        ("d: &d {x: 1}\ne: {<<: *d, y: 2}", {"d": {"x": 1}, "e": {"x": 1, "y": 2}}),
        ("big: 1000000\nf: 1.5", {"big": 1000000, "f": 1.5}),
        ("a: 1\n---\n", {"a": 1}),
    ],
)
def test_a_section_of_a_module_is_read_as_yaml_1_2(text: str, section: JSON) -> None:
    assert config_sections.parse({"foo": text}) == Config({"foo": section})


WORDS = "a: off\nb: [on, 'no', {c: y}]\nday: 2020-01-01\non: 1"


def test_the_global_section_is_read_as_values_yaml_is(tmp_path: Path) -> None:
    """Keys are the texts that were written."""
    (tmp_path / "values.yaml").write_text(f"global:\n{textwrap.indent(WORDS, '  ')}\n")
    found = config_sections.parse({"global": WORDS}).sections["global"]
    assert found == shelf.read_statics([tmp_path], [], strict=False).sections["global"]
    assert found == {"a": False, "b": [True, "no", {"c": True}], "day": "2020-01-01", "on": 1}


def test_words_that_are_not_read_alike_everywhere_are_named_by_their_place() -> None:
    data = {"global": WORDS, "foo": "x/y: yes\nz: 'yes'\nt: yesterday, yes", "fooEnabled": "on", "bar": "a: ["}
    assert list(config_sections.old_words(data)) == ["/global/a", "/global/b/0", "/global/b/2/c", "/foo/x~1y"]


@each(
    ("text", "read"),
    [
        ("off", "off"),
        ("2020-01-01", "2020-01-01T00:00:00Z"),
        ("2020-1-1", "2020-01-01T00:00:00Z"),
        ("2020-01-01 10:00:00", "2020-01-01T10:00:00Z"),
        ("2020-01-01T10:00:00Z", "2020-01-01T10:00:00Z"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14T21:59:43.1-05:00"),
        ("2020-01-01T10:00:00", "2020-01-01T10:00:00"),
        ("2020-13-01", "2020-13-01"),
        ("'2020-01-01'", "2020-01-01"),
    ],
)
def test_as_addon_operator_dates_in_sections_of_modules_are_times(text: str, read: str) -> None:
    """What addon-operator made of them, tried with its two parsers."""
    plain = text.strip("'")
    found = config_sections.parse({"foo": f"a: {text}", "global": f"a: {text}"}, as_addon=True).sections
    assert found["foo"] == {"a": read}
    assert found["global"] == {"a": False if text == "off" else plain}
    assert config_sections.parse({"foo": f"a: {text}"}).sections["foo"] == {"a": plain}


def test_flags_stand_beside_sections() -> None:
    data = {"foo": "a: 1", "fooEnabled": "true", "barEnabled": "false\n", "barMaintenance": "NoResourceReconciliation"}
    found = config_sections.parse(data | {"bazMaintenance": "", "quxMaintenance": "noresourcereconciliation"})
    assert found.sections == {"foo": {"a": 1}, "bar": {}, "baz": {}, "qux": {}}
    assert found.enabled == {"foo": True, "bar": False}
    assert found.maintenance == {"bar": True, "baz": False, "qux": True}
    assert not found.problems


@each("text", ["", "null", "# nothing\n"])
def test_nothing_is_a_global_section_but_no_module(text: str) -> None:
    found = config_sections.parse({"global": text, "foo": text})
    assert (found.sections, list(found.problems)) == ({"global": {}}, ["foo"])


@each(
    ("name", "text", "key", "told"),
    [
        ("foo", "a: [", "foo", "foo: cannot be read: not YAML: line 2"),
        ("foo", "[" * 5000, "foo", "foo: cannot be read: line 1: nested too deep"),
        ("foo", "{a: " * 253 + "1" + "}" * 253, "foo", "foo: cannot be read: line 1: nested too deep"),
        ("foo", "text", "foo", "foo: must be a map"),
        ("foo", "[1]", "foo", "foo: must be a map"),
        ("foo", "a: 1\n---\nb: 2", "foo", "foo: holds more than one document"),
        ("fooEnabled", "yes", "foo", "fooEnabled: must be 'true' or 'false', not a text of 3 characters"),
        ("fooEnabled", "", "foo", "fooEnabled: must be 'true' or 'false'"),
        ("fooMaintenance", "on", "foo", "fooMaintenance: must be '' or 'NoResourceReconciliation'"),
        ("foo-bar", "{}", "foo-bar", "bad module name 'foo-bar': should be camelCased, as 'fooBar'"),
        ("foo_barEnabled", "true", "foo_bar", "should be camelCased, as 'fooBar'"),
        ("Enabled", "true", "", "bad module name 'Enabled'"),
    ],
)
def test_unreadable_sections_are_named_and_the_rest_is_kept(name: str, text: str, key: str, told: str) -> None:
    found = config_sections.parse({name: text, "good": "a: 1", "goodEnabled": "true"})
    assert list(found.problems) == [key]
    assert told in found.problems[key]
    assert (found.sections["good"], found.enabled) == ({"a": 1}, {"good": True})


def test_all_problems_of_a_section_are_reported() -> None:
    found = config_sections.parse({"foo": "a: [", "fooEnabled": "1"})
    assert "cannot be read" in found.problems["foo"]
    assert "fooEnabled: must be" in found.problems["foo"]


WORDS_OF_YAML = ["y", "on", "1e3", "0644", "0x1f", "1:30", "2026-01-01", "2026-1-1", "null", "~", "=", "<<", ".5", "-"]
TEXTS = st.text(max_size=6) | st.sampled_from([*WORDS_OF_YAML, " a", "a: b", "a\nb", "# a"])
VALUES: st.SearchStrategy[JSON] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=several(40), deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_written_section_reads_as_the_same(section: JSON) -> None:
    kept = config_sections.without_nulls(section)
    text = config_sections.written(kept)
    assert config_sections.parse({"foo": text, "global": text}) == Config({"foo": kept, "global": kept})
    assert config_sections.parse({"foo": text}, as_addon=True) == Config({"foo": kept})


def test_written_section_means_the_same_in_yaml_1_1() -> None:
    section = {"n": "y", "a": "on", "b": "1e3", "c": 1.5e300, "d": "0o7", "text": "one\ntwo\n", "o": 10**7}
    assert yaml.safe_load(config_sections.written(section)) == section
    assert config_sections.written({"a": {"b": [1, "x"]}, "c": "Ü"}) == "a:\n  b:\n  - 1\n  - x\nc: Ü\n"


@pytest.mark.slow
async def test_large_section_is_written_and_read_the_same_in_another_process() -> None:
    section = {"list": [f"value {number}" for number in range(5_000)]}
    text = await config_sections.write_section(section)
    assert text == config_sections.written(section)
    assert len(text) > config_sections.READING.in_place
    config, words = await config_sections.read_sections({"foo": f"{text}flag: off\n"}, False)
    assert (config.sections["foo"], words) == ({**section, "flag": "off"}, ("/foo/flag",))
