"""Log records by one rule: a message is a fact in a few words, lowercase and without a full stop; `error=` is an
exception, `reason=` words; a logger is called `_log` and is its file's path.

Level: pure."""

import ast
import re
from collections.abc import Iterator

import pytest

from hookrunner import log
from tests.tables import each
from tests.test_layout import CODE, ROOT

CALL = re.compile(r"((\w+\.)?_(\w+_)?log|log\.get\(.*\))\.(trace|debug|info|warn|warning|error|fatal|exception|log)$")
PREDECESSORS = {
    "Execute hook",
    "Hook executed successfully",
    "Hook failed, but allowed to fail",
    "Hook failed. Will retry after delay.",
    "Startup converge done.",
}
"""Words of shell-operator and addon-operator, which people search logs for."""
NAMES = ("API ", "Helm ", "Pods ")
LOGGERS: list[list[str]] = [[], ["_log = log.get(__name__)"], ["_log = logging.getLogger(__name__)"]]


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    """Our files that name a logger, by their paths, parsed once."""
    texts = {str(file.relative_to(ROOT)): file.read_text() for file in CODE}
    return {name: ast.parse(text) for name, text in texts.items() if "log" in text}


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls that write a record."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and CALL.match(ast.unparse(node.func)):
            yield node


def faults(call: ast.Call) -> Iterator[str]:
    """What is wrong with a call."""
    words = [arg for arg in call.args if isinstance(arg, ast.JoinedStr) or _is_text(arg)]
    message = _text(words[-1] if words else call)
    if message not in PREDECESSORS and not message.startswith(NAMES) and (message[:1].isupper() or message[-1:] == "."):
        yield f"message {message!r}: lowercase, no full stop"
    for keyword in call.keywords:
        shown = ast.unparse(keyword.value)
        if keyword.arg in ("why", "because"):
            yield f"{keyword.arg}={shown}: call it reason"
        is_words = isinstance(keyword.value, ast.JoinedStr) or _is_text(keyword.value) or shown.startswith("str(")
        is_words = is_words or ".join(" in shown or shown.endswith((".reason", ".problem", "reason"))
        if keyword.arg == "error" and is_words:
            yield f"error={shown}: give the exception, or call it reason"


def loggers(tree: ast.Module) -> Iterator[str]:
    """Each logger of a file, as it is made and called."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and re.match(r"log\.get\(|logging\.getLogger\(", ast.unparse(node.value)):
            yield ast.unparse(node)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _text(node: ast.AST) -> str:
    """The words of a message, with `{}` for what is put in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else ""


def test_records_are_written_by_one_rule(trees: dict[str, ast.Module]) -> None:
    found = {f"{name}:{call.lineno}": list(faults(call)) for name, tree in trees.items() for call in calls(tree)}
    assert len(found) > 200
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


def test_a_logger_is_the_path_of_its_file(trees: dict[str, ast.Module]) -> None:
    made = {name: [*loggers(tree)] for name, tree in trees.items()}
    assert made.pop("hookrunner/process/output.py") == ["_log = log.get()"], "what a hook prints has no logger"
    assert {name: found for name, found in made.items() if found not in LOGGERS} == {}
    assert log.get("hookrunner.hooks.catalog").name == "hooks.catalog"


@each(
    ("code", "wrong"),
    [
        ("_log.info('done', error=error)", 0),
        ("_log.log(level, 'done.')", 1),
        ("_log.warn(f'Hook {name} failed')", 1),
        ("_log.warn('API servers do')", 0),
        ("self._log.warn('done', error=str(error))", 1),
        ("_log.warn('done', error=f'{error}', why=1)", 2),
        ("_log.warn('done', error='; '.join(lines))", 1),
    ],
)
def test_the_rule_finds_what_breaks_it(code: str, wrong: int) -> None:
    (call,) = calls(ast.parse(code))
    assert len([*faults(call)]) == wrong
