"""Points images to a private registry and gives Pods the Secret to pull from it: the flags `--private-registry` and
`--image-pull-secret` (docs/addons.md).

As upstream's operators do, the registry takes the place of everything before the last part of an image's name, or
before what follows the second slash: `registry.k8s.io/coredns/coredns:v1` becomes `REGISTRY/coredns:v1`. This
covers all kinds with a Pod template, which upstream does not, and images that are mounted as volumes.
https://kubernetes.io/docs/concepts/containers/images/
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from hookrunner.model.sourced_objects import SourcedObject
from kubetypes.json_values import JSON

_TEMPLATE = ("spec", "template", "spec")
POD_SPECS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): ("spec",),
    ("", "PodTemplate"): ("template", "spec"),
    ("", "ReplicationController"): _TEMPLATE,
    ("apps", "DaemonSet"): _TEMPLATE,
    ("apps", "Deployment"): _TEMPLATE,
    ("apps", "ReplicaSet"): _TEMPLATE,
    ("apps", "StatefulSet"): _TEMPLATE,
    ("batch", "CronJob"): ("spec", "jobTemplate", *_TEMPLATE),
    ("batch", "Job"): _TEMPLATE,
}
"""Where objects of a group and kind have the spec of their Pods."""

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_PARTS = 3


def redirect_images(
    sources: Iterable[SourcedObject], registry: str = "", pull_secret: str = ""
) -> tuple[SourcedObject, ...]:
    """The objects with images from the registry; the Secret replaces `imagePullSecrets`. Empty texts change nothing.

    What is not shaped as the API wants it stays as it is: the API server refuses it with better words.
    """
    host = registry.rstrip("/")

    def redirect_pod(spec: JSON) -> JSON:
        pod = _with_images(spec, lambda image: redirected(image, host)) if host else spec
        return {**pod, "imagePullSecrets": [{"name": pull_secret}]} if pull_secret else pod

    return tuple(
        SourcedObject(source.path, _changed_at(source.obj, path, redirect_pod))
        if (path := POD_SPECS.get((source.group, source.kind)))
        else source
        for source in sources
    )


def images_of(objects: Iterable[JSON]) -> set[str]:
    """The images that objects name where `redirect_images` changes them."""
    images = set[str]()
    for obj in objects:
        source = SourcedObject("", obj)
        if path := POD_SPECS.get((source.group, source.kind)):
            _changed_at(obj, path, partial(_noted_images, images))
    return images


def _noted_images(images: set[str], spec: JSON) -> JSON:
    def note(image: str) -> str:
        if image:
            images.add(image)
        return image

    return _with_images(spec, note)


def redirected(image: str, registry: str) -> str:
    """The image in the registry; `a/b/c/d:v` keeps `c/d:v`. A digest (`name@sha256:…`) stays."""
    return f"{registry}/{image.split('/', _PARTS - 1)[-1]}" if image else image


def _with_images(spec: JSON, change: Callable[[str], str]) -> JSON:
    """The spec of a Pod with another text for each image."""

    def change_container(container: JSON) -> JSON:
        image = container.get("image")
        return {**container, "image": change(image)} if isinstance(image, str) else container

    def change_volume(volume: JSON) -> JSON:
        image = volume.get("image")
        reference = image.get("reference") if isinstance(image, dict) else None
        return {**volume, "image": {**image, "reference": change(reference)}} if isinstance(reference, str) else volume

    lists = {key: _each_map(spec[key], change_container) for key in _CONTAINERS if key in spec}
    if "volumes" in spec:
        lists["volumes"] = _each_map(spec["volumes"], change_volume)
    return {**spec, **lists}


def _each_map(value: JSON, change: Callable[[JSON], JSON]) -> JSON:
    """The list with its maps changed; what is no list or no map stays."""
    if not isinstance(value, list):
        return value
    return [change(item) if isinstance(item, dict) else item for item in value]


def _changed_at(document: JSON, path: tuple[str, ...], change: Callable[[JSON], JSON]) -> JSON:
    """A copy of a map with the map at a path changed; the map itself without one."""
    if not path:
        return change(document)
    inner = document.get(path[0])
    if not isinstance(inner, dict):
        return document
    return {**document, path[0]: _changed_at(inner, path[1:], change)}
