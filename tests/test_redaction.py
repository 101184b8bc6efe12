"""Documents in words that name no value; messages of others without the values that they were given. Level: pure."""

from hookrunner import redaction
from kubetypes.json_values import JSON
from tests.tables import each


@each(
    ("value", "words"),
    [
        ({"kind": "Pod", "data": {"a": 1}}, "a map with the keys kind, data"),
        ({"name": 1}, "a map with the key name"),
        ({"hunter2 is the password": 1}, "a map with 1 key"),
        ({"a": 1, "two words": 2}, "a map with the keys a and 1 more"),
        ({f"key{number}": 1 for number in range(12)}, "key8, key9 and 2 more"),
        ({}, "an empty map"),
        ([], "an empty list"),
        (["a"], "a list of 1 item"),
        (["a"] * 2000, "a list of 2,000 items"),
        ("", "an empty text"),
        ("hunter2", "a text of 7 characters"),
        (54321, "a number"),
        (1.5, "a number"),
        (True, "true or false"),
        (None, "null"),
    ],
)
def test_a_document_is_described_by_its_kind_size_and_keys(value: JSON, words: str) -> None:
    assert redaction.described(value).endswith(words)


@each(
    ("document", "message", "told"),
    [
        ({"a": ["hunter2"]}, "not hunter2", "not ***"),
        ({"port": 54321}, "54321 is too much", "*** is too much"),
        ({"key": "BEGIN\nMIIEow\nEND"}, "cannot parse MIIEow", "cannot parse ***"),
        ({"a": 'say "hello"\n'}, r'bad "say \"hello\"\n"', 'bad "***"'),
        ({"one": "pass", "two": "pass phrase"}, "pass phrase", "***"),
        ({"one": "pass"}, "passphrase", "passphrase"),
        ({"short": "abc", "on": True, "none": None}, "abc is True, None", "abc is True, None"),
        ({"kind": "Node", "metadata": {"name": "node-1"}}, 'Node "node-1" is bad', 'Node "node-1" is bad'),
        ({"data": 1, "word": "data"}, "data is bad", "data is bad"),
        (None, "nothing to hide", "nothing to hide"),
    ],
)
def test_the_values_of_a_document_are_masked_in_a_message(document: JSON, message: str, told: str) -> None:
    assert redaction.masked(message, redaction.words(document)) == told


@each(
    ("message", "told"),
    [
        ("hunter2 and tail", "*** a…"),
        ("key: hunter2", "key: ***…"),
        ("the a-hunter b", "the ***…"),
        ("the a-hunter2 b", "the a-***…"),
        ("the xhunter2 b", "the xhunt…"),
    ],
)
def test_a_long_message_is_cut_and_no_part_of_a_value_is_left(message: str, told: str) -> None:
    assert redaction.excerpt(message, {"hunter2", "a-hunter", "longer than the excerpt"}, most=9) == told


def test_words_that_overlap_are_one_mask() -> None:
    assert redaction.masked("a-bcd-efgh-i", {"a-bcd", "bcd-efgh"}) == "***-i"


def test_a_word_longer_than_the_excerpt_is_masked() -> None:
    assert redaction.excerpt("no long secret text here", {"long secret text here"}, most=10) == "no ***…"
    assert redaction.excerpt("no long secret text here", {"long sector"}, most=10) == "no long se…"
