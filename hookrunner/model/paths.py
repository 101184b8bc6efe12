"""Where a webhook is found on the servers: one answer for registration and for serving (shell-operator.md §8.2)."""

import re

ADMISSION = "/hooks/"
"""What all paths of admission webhooks begin with."""

_CAPITAL = re.compile(r"(?=[A-Z])")
_UNSAFE = re.compile(r"[^a-z0-9/]+")


def webhook_id(name: str) -> str:
    """A binding's name as it stands in a URL: `importantHook` → `important-hook`, `my.example.com` → `my-example-com`.

    Different names may have one id.
    """
    return _UNSAFE.sub("-", _CAPITAL.sub("-", name).lower())


def admission_path(name: str) -> str:
    """The path of a `kubernetesValidating` or `kubernetesMutating` binding."""
    return ADMISSION + webhook_id(name)


def conversion_path(definition: str) -> str:
    """The path that converts objects of a CustomResourceDefinition, by its name (§8.4)."""
    return f"/{definition}"
