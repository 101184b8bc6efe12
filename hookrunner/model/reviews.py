"""What the API server asks of a hook, and what comes of it: admission and conversion reviews without HTTP around them.

`web` makes them of requests and answers of them, `engine` has a hook decide. Keys of `request` are the API's own
(shell-operator.md §5.3, §8.3, §8.5).
Source: https://kubernetes.io/docs/reference/config-api/apiserver-admission.v1/,
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hookrunner.model.resources import JSON

DENIED = 403
"""The status code of a refusal that names none."""


@dataclass(frozen=True, slots=True)
class AdmissionReview:
    """May this be done? `webhook` is the webhook's id, the last part of its path; `api_version` the review's own.

    `deadline` is the event loop's time after which nobody waits for the verdict any more.
    """

    webhook: str
    api_version: str
    request: JSON
    deadline: float


@dataclass(frozen=True, slots=True)
class ConversionReview:
    """Give me these objects in another version. `definition` is the name of their CustomResourceDefinition."""

    definition: str
    api_version: str
    request: JSON
    deadline: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """A hook's answer to an admission review. `code` counts for a refusal; `patch` are the steps of a JSON patch."""

    allowed: bool
    message: str = ""
    code: int = DENIED
    warnings: tuple[str, ...] = ()
    audit: Mapping[str, str] = field(default_factory=dict)
    patch: Sequence[JSON] = ()


@dataclass(frozen=True, slots=True)
class Converted:
    """A hook's answer to one step of a conversion: the objects, or why there are none."""

    objects: Sequence[JSON] = ()
    failure: str = ""


class Reviewer(Protocol):
    """Answers reviews."""

    async def admit(self, review: AdmissionReview) -> Verdict:
        """Raises ReviewFailed if there is no verdict."""
        ...

    async def convert(self, review: ConversionReview) -> Sequence[JSON]:
        """All objects of the request, in its order, in the wanted version. Raises ReviewFailed."""
        ...

    def missing(self) -> str:
        """What still has to come before reviews can be answered at once; empty if nothing."""
        ...
