"""`dataclass` as in the standard library, for classes of which most are never used in a process.

The standard library compiles six methods of each class from text, at each start: 230 of the 570 ms that the imports of
the application took. Here `__eq__`, `__hash__`, `__repr__` and what refuses changes are closures over the names of
fields. Only `__init__` has to be compiled to be fast, and that happens at the first instance. All else is the standard
library's: `field`, `fields`, `replace`, slots and matching work as they do there.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(
    *, frozen: bool = False, eq: bool = True, slots: bool = False, weakref_slot: bool = False
) -> Callable[[type[T]], type[T]]:
    """Decorate a class as `dataclasses.dataclass` does with these options; methods that it has itself are kept."""

    def decorate(cls: type[T]) -> type[T]:
        cls.__doc__ = cls.__doc__ or cls.__name__  # the standard library would describe `__init__`, which is not there
        plain = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, weakref_slot=weakref_slot)
        made: type[T] = plain(cls)
        methods: dict[str, object] = {"__init__": _FirstInit(made, frozen), "__repr__": _repr}
        if frozen:
            methods |= {"__setattr__": _refuse_change, "__delattr__": _refuse_change}
        if frozen and slots:
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
        if eq:
            methods |= _comparison(made, frozen)
        for name in methods.keys() - vars(made).keys():
            setattr(made, name, methods[name])
        return made

    return decorate


def _comparison(cls: type, frozen: bool) -> dict[str, object]:
    """Instances are equal that are of one class and have equal fields. If fields may change, there is no hash."""
    compared = [field for field in fields(cls) if field.compare]
    value = _reader(compared)
    hashed = _reader([field for field in compared if field.hash is not False])

    def __eq__(self: object, other: object) -> bool:
        return value(self) == value(other) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": __eq__, "__hash__": (lambda self: hash(hashed(self))) if frozen else None}


def _reader(of: list[Field[Any]]) -> Callable[[object], object]:
    return attrgetter(*(field.name for field in of)) if of else lambda _: ()


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_change(self: object, name: str, *value: object) -> None:
    raise FrozenInstanceError(f"cannot {'assign to' if value else 'delete'} field {name!r}")


def _state(self: Any) -> list[object]:
    """For pickle and copy, which would set attributes otherwise."""
    return [getattr(self, field.name) for field in fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


class _FirstInit:
    """In the place of `__init__` until that is needed: by an instance, by a subclass that calls it, by who asks for its
    signature."""

    def __init__(self, cls: type, frozen: bool) -> None:
        self._cls = cls
        self._frozen = frozen

    def __get__(self, instance: object, owner: type) -> Callable[..., None]:
        init = _compile_init(self._cls, self._frozen)
        self._cls.__init__ = init  # type: ignore[misc]
        bound: Callable[..., None] = init.__get__(instance, owner)
        return bound


def _compile_init(cls: type, frozen: bool) -> Callable[..., None]:
    """Defaults, factories and, in frozen classes, what sets a field are variables of the function's module."""
    names: dict[str, Any] = {"_MISSING": MISSING}
    parameters, lines = ["self"], []
    for field in fields(cls):
        name = value = field.name
        default = field.default
        if field.default_factory is not MISSING:
            names[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _MISSING else {name}" if field.init else f"_make_{name}()"
        elif not field.init:  # set by __post_init__
            continue
        if field.init:
            has_default = default is not MISSING or field.default_factory is not MISSING
            parameters.append(f"{name}=_default_{name}" if has_default else name)
            names[f"_default_{name}"] = default
        names[f"_set_{name}"] = _setter(cls, name) if frozen else None
        lines.append(f"_set_{name}(self, {value})" if frozen else f"self.{name} = {value}")
    lines += ["self.__post_init__()"] * hasattr(cls, "__post_init__")
    exec(f"def __init__({', '.join(parameters)}):\n  " + "\n  ".join(lines or ["pass"]), names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _setter(cls: type, name: str) -> Callable[[object, object], None]:
    """What sets a field of a frozen instance: of a slot, the quickest that there is."""
    slot = getattr(cls, name, None)
    if isinstance(slot, MemberDescriptorType):
        return slot.__set__
    return lambda instance, value: object.__setattr__(instance, name, value)
