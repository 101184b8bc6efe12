"""Which findings a comment silences. Level: pure."""

from hookrunner.linting.findings import Finding, without_ignored
from tests.tables import each

TEN = "#\n" * 10


def left(text: str, *findings: Finding) -> list[str]:
    return [finding.code for finding in without_ignored("a", text, findings)]


@each(
    ("text", "codes"),
    [
        ("", ["crlf"]),
        ("x # hookrunner: ignore=crlf", []),
        ("x #hookrunner:ignore=crlf because of the editor", []),
        ("x # hookrunner: ignore=bom,crlf", ["unused-ignore"]),
        ("x # hookrunner: ignore=bom, crlf", ["unused-ignore"]),
        ("\n# hookrunner: ignore=crlf", []),
        (f"{TEN}# hookrunner: ignore=crlf", ["crlf", "unused-ignore"]),
        ("hookrunner: ignore=crlf", ["crlf"]),
    ],
)
def test_comment_silences_codes_on_its_line_or_in_the_file(text: str, codes: list[str]) -> None:
    assert left(text, Finding("a", 1, 1, "crlf", "")) == codes


def test_comment_below_the_head_silences_its_line_only() -> None:
    text = f"{TEN}x # hookrunner: ignore=crlf"
    findings = [Finding("a", line, 1, "crlf", "") for line in (10, 11, 12)]
    assert [one.line for one in without_ignored("a", text, findings)] == [10, 12]


def test_errors_cannot_be_silenced() -> None:
    (error, unused) = without_ignored("a", "# hookrunner: ignore=refused", [Finding("a", 1, 1, "refused", "")])
    assert (error.code, unused.code) == ("refused", "unused-ignore")
    assert "fix it" in unused.text


def test_unknown_code_is_reported_with_a_suggestion() -> None:
    (unused,) = without_ignored("a", "# hookrunner: ignore=first-onyl", [])
    assert unused.text == "there is no code 'first-onyl'; did you mean 'first-only'?"
    assert (unused.line, unused.column, unused.severity) == (1, 1, "info")
