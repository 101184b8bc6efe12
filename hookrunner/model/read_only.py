"""Fields that only the methods of their class change."""

from typing import Generic, Never, TypeVar

_T = TypeVar("_T")


class ReadOnly(Generic[_T]):
    """A field that its class keeps under its name with an underscore, and that others can only read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, instance: object, owner: type) -> _T:
        value: _T = getattr(instance, self._name)
        return value

    def __set__(self, instance: object, value: Never) -> Never:
        raise AttributeError(f"{self._name[1:]} is changed by the methods of {type(instance).__name__} only")
