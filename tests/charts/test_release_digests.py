"""Equal inputs have equal digests, whatever the order of keys; each other input has another. Level: pure."""

import hashlib

import orjson

from hookrunner.charts.release_digests import attempt_digest, inputs_digest
from hookrunner.model.releases import Capabilities

SEEN = Capabilities("v1.31.0", ("v1",))


def test_values_that_were_read_otherwise_are_rendered_once_more() -> None:
    known = {text: inputs_digest("f", {"a": text}, None, {}) for text in ("a\r\nb", "a\rb", "a\u2028b")}
    parts = {text: orjson.dumps(["f", {"a": text}, None, {}]) for text in known}
    before = {text: hashlib.sha1(part, usedforsecurity=False).hexdigest() for text, part in parts.items()}
    assert [known[text] == before[text] for text in known] == [True, False, False]


def test_digest_changes_with_every_input_of_a_release() -> None:
    digests = [
        inputs_digest("f", {"a": 1}, None, {}),
        inputs_digest("g", {"a": 1}, None, {}),
        inputs_digest("f", {"a": 2}, None, {}),
        inputs_digest("f", {"a": 1}, SEEN, {}),
        inputs_digest("f", {"a": 1}, Capabilities("v1.31.0", ("v1", "apps/v1")), {}),
        inputs_digest("f", {"a": 1}, None, {"heritage": "h"}),
    ]
    assert len(set(digests)) == len(digests)
    assert all(len(text) == 40 for text in digests)


def test_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert inputs_digest("f", {"a": 1, "b": {"c": 2, "d": 3}}, SEEN, {}) == inputs_digest(
        "f", {"b": {"d": 3, "c": 2}, "a": 1}, SEEN, {}
    )


def test_attempt_is_another_one_when_its_inputs_or_the_request_change() -> None:
    digests = {attempt_digest("a", ["x"]), attempt_digest("b", ["x"]), attempt_digest("a", ["y"])}
    assert len(digests) == 3
    assert {len(text) for text in digests} == {40}
