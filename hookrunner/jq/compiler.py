"""Compile a simple program to Python: outputs, order and errors as libjq's, one object in about a microsecond.

Every program that is accepted runs in time and space linear in its input, since nothing here can be interrupted:
outputs may be copied at most `MOST_COPIES` times, and a constructor, comparison or operator may combine a generator
with constants only (`{a: .x[], b: .}` is quadratic). `.[]` visits an object's keys sorted, as gojq does and as libjq
does with the sorted text that workers get; an object built by the program itself would keep its own order there, so
that too is not simple.

What is one value for one input is compiled to a plain function, only the rest to generators.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from hookrunner.errors import FilterFailed
from hookrunner.jq.filters import (
    NAMES,
    PLAIN_CALLS,
    CompiledStep,
    Many,
    One,
    compare,
    has,
    index,
    joined,
    members,
    path,
    section,
    single,
    truth,
)
from hookrunner.jq.syntax import (
    Array,
    Binary,
    Call,
    Comma,
    Constant,
    Identity,
    Index,
    Iterate,
    Node,
    NotSimple,
    Object,
    Pipe,
    Slice,
    Try,
    parse,
)
from kubetypes.json_values import JSON

MOST_COPIES = 100


def outputs_of(program: str) -> Many:
    """The function from one input to its outputs, which it shares parts with. It raises `FilterFailed` as libjq fails.

    Raises `NotSimple` if the program needs libjq.
    """
    return _compile(parse(program)).many


def _compile(node: Node) -> CompiledStep:
    step = _step(node)
    if step.copies > MOST_COPIES:
        raise NotSimple
    return step


def _step(node: Node) -> CompiledStep:  # noqa: C901 (one arm for each kind of node)
    match node:
        case Identity():
            return single(lambda value: value)
        case Constant(constant):
            return CompiledStep(lambda _: (constant,), lambda _: constant, fixed=True)
        case Index(key):
            return single(index(key))
        case Slice(start, stop):
            return single(section(start, stop))
        case Iterate():
            return CompiledStep(members, visits=True)
        case Try(body):
            return _try(_compile(body))
        case Pipe(parts):
            return _pipe(parts)
        case Comma(parts):
            steps = [_compile(part) for part in parts]
            return joined(lambda value: (out for step in steps for out in step.many(value)), steps)
        case Binary(operator, left, right):
            return _binary(operator, _compile(left), _compile(right))
        case Array(body):
            return _array(_compile(body)) if body else single(lambda _: [])
        case Object(entries):
            return _record(entries)
        case Call(name, argument):
            return _call(name, argument)


# What joins steps.


def _try(body: CompiledStep) -> CompiledStep:
    def attempt(value: JSON) -> Iterator[JSON]:
        try:
            yield from body.many(value)
        except FilterFailed:
            return

    return joined(attempt, [body])


def _pipe(parts: tuple[Node, ...]) -> CompiledStep:
    step, *others = _steps(parts)
    for other in others:
        step = _then(step, other)
    return step


def _steps(parts: tuple[Node, ...]) -> Iterator[CompiledStep]:
    """The compiled parts, runs of plain keys as one."""
    keys: tuple[str, ...] = ()
    for part in parts:
        if isinstance(part, Index) and isinstance(part.key, str):
            keys += (part.key,)
            continue
        if keys:
            yield single(path(keys))
            keys = ()
        yield _compile(part)
    if keys:
        yield single(path(keys))


def _then(first: CompiledStep, second: CompiledStep) -> CompiledStep:
    if first.builds and second.visits:
        raise NotSimple
    copies = first.copies * second.copies
    if copies > MOST_COPIES:
        raise NotSimple
    flags = (copies, first.builds or second.builds, first.visits or second.visits)
    many, following = first.many, second.many
    if first.one is None:
        return CompiledStep(lambda value: (out for middle in many(value) for out in following(middle)), None, *flags)
    one = first.one
    if second.one is None:
        return CompiledStep(lambda value: following(one(value)), None, *flags)
    last = second.one
    return CompiledStep(lambda value: (last(one(value)),), lambda value: last(one(value)), *flags)


def _binary(operator: str, left: CompiledStep, right: CompiledStep) -> CompiledStep:
    if operator == "//":
        return _alternative(left, right)
    if left.one is None or right.one is None:
        _refuse_products([left, right])
    if operator in ("and", "or"):
        return _logic(operator == "or", left, right)
    return _comparison(COMPARED[operator], left, right)


def _alternative(left: CompiledStep, right: CompiledStep) -> CompiledStep:
    """All outputs of `left` that are true, or else those of `right`. libjq 1.8.2 lets errors of `left` through."""

    def many(value: JSON) -> Iterator[JSON]:
        has_true_output = False
        for out in left.many(value):
            if truth(out):
                has_true_output = True
                yield out
        if not has_true_output:
            yield from right.many(value)

    first, second = left.one, right.one
    if first is None or second is None:
        return joined(many, [left, right])
    return single(lambda value: out if truth(out := first(value)) else second(value), left, right)


def _logic(settled: bool, left: CompiledStep, right: CompiledStep) -> CompiledStep:
    """`or` is settled by a true left side, `and` by a false one: then the right side is not looked at."""

    def many(value: JSON) -> Iterator[JSON]:
        for out in left.many(value):
            if truth(out) is settled:
                yield settled
            else:
                yield from (truth(other) for other in right.many(value))

    first, second = left.one, right.one
    if first is None or second is None:
        return joined(many, [left, right])
    return single(lambda value: settled if truth(first(value)) is settled else truth(second(value)), left, right)


COMPARED: dict[str, Callable[[int], bool]] = {
    "==": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


def _comparison(holds: Callable[[int], bool], left: CompiledStep, right: CompiledStep) -> CompiledStep:
    """libjq evaluates the right side first: that decides which error, or which lack of outputs, comes through."""

    def many(value: JSON) -> Iterator[JSON]:
        for other in right.many(value):
            for out in left.many(value):
                yield holds(compare(out, other))

    first, second = left.one, right.one
    if first is None or second is None:
        return joined(many, [left, right])

    def one(value: JSON) -> JSON:
        other = second(value)
        return holds(compare(first(value), other))

    return single(one, left, right)


# Constructors.


def _array(body: CompiledStep) -> CompiledStep:
    return single(lambda value: list(body.many(value)), body)


def _record(entries: tuple[tuple[Node, Node], ...]) -> CompiledStep:
    pairs = [(_key(key), _compile(value)) for key, value in entries]
    steps = [step for pair in pairs for step in pair]
    singles = [(key.one, value.one) for key, value in pairs if key.one and value.one]
    if len(singles) == len(pairs):
        names = [key.value for key, _ in entries if isinstance(key, Constant)]
        step = single(_built(singles) if len(names) < len(pairs) else _named(names, singles), *steps)
    else:
        _refuse_products(steps)
        step = joined(lambda value: _records(pairs, value), steps)
    return replace(step, builds=True)


def _key(node: Node) -> CompiledStep:
    """libjq refuses some keys that cannot be strings at compile time: only constants and paths are taken on here."""
    if isinstance(node, Constant) and isinstance(node.value, str):
        return _compile(node)
    parts = node.parts if isinstance(node, Pipe) else (node,)
    if all(isinstance(part, Index) for part in parts):
        return _compile(node)
    raise NotSimple


def _named(names: list[str], pairs: list[tuple[One, One]]) -> One:
    """Keys are known: what most constructors are. A list, since a name may come twice and either value may fail."""
    parts = [(name, value) for name, (_, value) in zip(names, pairs, strict=True)]
    return lambda value: {name: part(value) for name, part in parts}


def _built(pairs: list[tuple[One, One]]) -> One:
    def one(value: JSON) -> JSON:
        built: dict[str, JSON] = {}
        for key, part in pairs:
            _put(built, key(value), part(value))
        return built

    return one


def _put(built: dict[str, JSON], key: JSON, value: JSON) -> None:
    if type(key) is not str:
        raise FilterFailed(f"Object keys must be strings, not {NAMES[type(key)]}")
    built[key] = value


def _records(pairs: list[tuple[CompiledStep, CompiledStep]], value: JSON) -> Iterator[JSON]:
    """One object for each output of the one generator among the pairs, evaluated in the order they are written."""
    chosen: Iterable[tuple[JSON, ...]] = [()]
    for key, part in pairs:
        chosen = _extended(chosen, key, part, value)
    for flat in chosen:
        built: dict[str, JSON] = {}
        for name, out in zip(flat[::2], flat[1::2], strict=True):
            _put(built, name, out)
        yield built


def _extended(
    chosen: Iterable[tuple[JSON, ...]], key: CompiledStep, part: CompiledStep, value: JSON
) -> Iterator[tuple[JSON, ...]]:
    return ((*flat, name, out) for flat in chosen for name in key.many(value) for out in part.many(value))


def _refuse_products(steps: list[CompiledStep]) -> None:
    """Allow only constants beside a generator: anything else would be repeated for each of its outputs."""
    if sum(not step.fixed for step in steps) > 1:
        raise NotSimple


# Named filters.


def _call(name: str, argument: Node | None) -> CompiledStep:
    if name == "map" and argument:
        return _array(_then(CompiledStep(members, visits=True), _compile(argument)))
    if name == "select" and argument:
        return _select(_compile(argument))
    if name == "has" and isinstance(argument, Constant) and type(argument.value) in (int, str):
        return single(has(argument.value))
    if name == "empty":
        return CompiledStep(lambda _: ())
    if argument is None:
        return single(PLAIN_CALLS[name])
    raise NotSimple


def _select(condition: CompiledStep) -> CompiledStep:
    holds = condition.one
    if holds is None:
        raise NotSimple
    return joined(lambda value: (value,) if truth(holds(value)) else (), [condition])
