"""Where a webhook is found on the servers: one answer for registration and for serving."""

import re

ADMISSION = "/hooks/"
"""What all paths of admission webhooks begin with."""

_CAPITAL = re.compile(r"(?=[A-Z])")
_UNSAFE = re.compile(r"[^a-z0-9/]+")


def webhook_id(name: str, addon: str = "") -> str:
    """A binding's name as it stands in a URL: `importantHook` → `important-hook`, `my.example.com` → `my-example-com`;
    `cert-manager/my-example-com` for a hook of that addon.

    Different names may have one id.
    """
    found = _UNSAFE.sub("-", _CAPITAL.sub("-", name).lower())
    return f"{addon}/{found}" if addon else found


def webhook_name(name: str, addon: str = "") -> str:
    """What a binding is called in the cluster, where two addons may have webhooks of one name."""
    return f"{addon}.{name}" if addon else name


def admission_path(name: str, addon: str = "") -> str:
    """The path of a `kubernetesValidating` or `kubernetesMutating` binding."""
    return ADMISSION + webhook_id(name, addon)


def addon_of(path: str) -> str:
    """Whose hook answers at an admission path: an addon's name, empty for a hook of none."""
    return path.removeprefix(ADMISSION).rpartition("/")[0]


def conversion_path(definition: str) -> str:
    """The path that converts objects of a CustomResourceDefinition, by its name."""
    return f"/{definition}"
