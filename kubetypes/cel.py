"""CEL, by Google's own C++ implementation (`cel-expr-python`, the extra `cel`): every evaluation ends in a value or in
`NoValue`.

The library answers some failures with a value of type ERROR and raises others: after 10,000 steps of loops, for half of
a surrogate pair, without memory. Which these are is not documented, so every exception counts: what users write is
accepted or refused, and crashes nothing.

Loaded when the first expression is compiled: the library is optional, and takes 20 ms and 20 MB.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from kubetypes.json_values import JSON

_BUDGET = "Iteration budget exceeded"


class WrongExpression(Exception):
    """An expression cannot be compiled; the first line of the message says why."""


class NoValue(Exception):
    """An expression has no value for what it was given; says why, in the library's words."""


class TooLong(NoValue):
    """An expression was given so many items that its loops took more steps than the library allows."""


def available() -> bool:
    """Whether the library is installed."""
    return find_spec("cel_expr_python") is not None


@cache
def library() -> Any:
    """The library's module, for its types."""
    # Not at the top: see the docstring.
    from cel_expr_python import cel

    return cel


def environment(variables: Sequence[str], extensions: Sequence[str] = (), functions: Sequence[Any] = ()) -> Any:
    """What expressions can use: variables of any type, the library's extensions (`strings`, `optional`), and more
    functions (the library's `FunctionDecl`)."""
    known = dict.fromkeys(variables, library().Type.DYN)
    return library().NewEnv(
        variables=known, extensions=[_extension(name) for name in extensions], functions=list(functions)
    )


def program(environment: Any, text: str) -> Any:
    """An expression for `evaluated`. Raises `WrongExpression`."""
    try:
        return environment.compile(text)
    except Exception as error:
        raise WrongExpression(str(error)) from None


class CompiledRule(NamedTuple):
    """A compiled expression on `self`, and on `oldSelf` if `uses_old`."""

    program: Any
    uses_old: bool

    def variables(self, value: JSON, old: JSON) -> dict[str, JSON]:
        """What to evaluate it with."""
        return {"self": value, "oldSelf": old} if self.uses_old else {"self": value}


def compiled_rule(text: str, environment: Callable[..., Any]) -> CompiledRule:
    """A rule about a value. `environment` makes one of names of variables. Raises `WrongExpression`."""
    try:
        return CompiledRule(program(environment("self"), text), uses_old=False)
    except WrongExpression:
        if "oldSelf" not in text:
            raise
    return CompiledRule(program(environment("self", "oldSelf"), text), uses_old=True)


def evaluated(program: Any, variables: Mapping[str, JSON]) -> JSON:
    """What an expression gives. Raises `NoValue`, `TooLong`."""
    try:
        result = program.eval(data=variables)
        failure = str(result) if result.type() == library().Type.ERROR else ""
        value = None if failure else result.plain_value()
    except Exception as error:
        failure = str(error) or type(error).__name__
        if _BUDGET in failure:
            raise TooLong(failure) from None
    if failure:
        raise NoValue(failure) from None
    return value


def _extension(name: str) -> Any:
    if name == "strings":
        from cel_expr_python.ext import ext_strings

        return ext_strings.ExtStrings()
    from cel_expr_python.ext import ext_optional

    return ext_optional.ExtOptional()
