"""The first line of an executable. Level: pure."""

from hookrunner.process.hashbang import parse
from tests.tables import each


@each(
    ("head", "words"),
    [
        (b"#!/bin/sh\nx", ("/bin/sh",)),
        (b"#! \t/usr/bin/env \t python3 -u \nx", ("/usr/bin/env", "python3 -u")),
        (b"#!/bin/sh\r\nx", ("/bin/sh\r",)),
        (b"#!\n", ("",)),
        (b"#!/bin/\xff", ("/bin/\udcff",)),
    ],
)
def test_a_line_is_read_as_linux_does(head: bytes, words: tuple[str, ...]) -> None:
    line = parse(head)
    assert line
    assert (line.words, line.ends_in_return) == (words, words[-1].endswith("\r"))


@each("head", [b"", b"#", b" #!/bin/sh\n", b"\x7fELF"])
def test_any_other_beginning_is_none(head: bytes) -> None:
    assert parse(head) is None
