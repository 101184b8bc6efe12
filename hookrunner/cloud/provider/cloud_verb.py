"""What is known of a verb of the wire format: a row of the table in `verbs.py`."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from hookrunner.cloud.answers import Interface
from hookrunner.cloud.shown_texts import Mask
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

Q = TypeVar("Q")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class VerbParams(Generic[Q]):
    """The `params` of a request, which several verbs may have. `key` names their schema in `wire.schema.json`;
    `document` makes them of the question; `about` names what the question is about, where calls about one thing must
    not run side by side."""

    key: str
    document: Callable[[Q], JSON]
    about: Callable[[Q], str] = lambda _: ""


@dataclass(frozen=True, slots=True, eq=False)
class CloudVerb(Generic[Q, R]):
    """A verb: what is asked (`Q`), and what the answer is read as (`R`).

    `reader`: makes of a result, the question and a mask of secrets the value, or raises ProviderError. `check`: the
    rule of `hookrunner cloud check` that tries it. `interface`: without that capability it is not called; None if it
    belongs to none. `changes_cloud`: it is not asked without leave to write. `absent_is_done`: the error `NotFound` is
    a success.
    """

    name: str
    params: VerbParams[Q]
    reader: Callable[[Mapping[str, JSON], Q, Mask], R]
    check: str
    interface: Interface | None = None
    changes_cloud: bool = False
    absent_is_done: bool = False

    def __str__(self) -> str:
        return self.name

    def read(self, result: Mapping[str, JSON], question: Q, mask: Mask = str) -> R:
        """The value of a result. Raises ProviderError."""
        return self.reader(result, question, mask)

    def lane(self, question: Q) -> str:
        """Calls of one lane never run side by side; those without one (`""`) may."""
        return " ".join(filter(None, (self.interface, self.params.about(question))))


AnyVerb: TypeAlias = CloudVerb[Any, Any]
