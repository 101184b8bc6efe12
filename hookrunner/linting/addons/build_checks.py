"""Checks of what an addon's packages lead to: placeholders, and the objects of an instance with default values.

Hooks do not run here, so a package that needs what they find out is not built, and that is no mistake.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hookrunner.addons.addon_values import instance_values
from hookrunner.addons.build_request import BuildRequest
from hookrunner.addons.instance_fields import read_instance
from hookrunner.addons.object_builder import BuiltRelease, ObjectBuilder
from hookrunner.addons.package_directory import unpack_package
from hookrunner.errors import BadChart, BadPatch, BadValues, RenderFailed
from hookrunner.linting import served_kinds
from hookrunner.linting.addons.source_checks import package_path
from hookrunner.linting.modules.module_remarks import ModuleRemark, in_yaml
from hookrunner.model.addons import Addon, Instance
from hookrunner.modules.offline import stock_capabilities
from hookrunner.packages.package import Package
from hookrunner.values import pointers
from hookrunner.values.schemas.node import Node
from hookrunner.values.schemas.schema_files import Schemas
from kubetypes.json_values import JSON

_ADDON_FILE = "addon.yaml"


def check_placeholders(
    addon: Addon, schemas: Schemas, defaults: JSON, packages: Sequence[Package]
) -> Iterator[ModuleRemark]:
    """Remarks on placeholders that no package has, and on those whose values neither defaults nor schemas know.
    `defaults` are the addon's section of the values without anything set."""
    texts = [data for package in packages if package.form != "chart" for data in package.files.values()]
    for placeholder in addon.text:
        place = in_yaml(addon.directory / _ADDON_FILE, pointers.text(("text", placeholder.text)))
        if not any(placeholder.text.encode() in data for data in texts):
            text = f"the placeholder {placeholder.text} stands in no file of any package"
            yield ModuleRemark(_ADDON_FILE, place, "placeholder-unused", text)
        path = placeholder.value.split(".")
        if not _has_value(defaults, path) and not _is_defined(schemas, path):
            text = f"the placeholder {placeholder.text} has no value: nothing defines {placeholder.value}"
            mend = f"describe it in openapi/spec.yaml or openapi/values.yaml, or set {addon.key} in values.yaml"
            yield ModuleRemark(_ADDON_FILE, place, "placeholder-unset", f"{text}; {mend}")


def _has_value(values: JSON, path: Sequence[str]) -> bool:
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values is not None


def _is_defined(schemas: Schemas, path: Sequence[str]) -> bool:
    """Does a schema describe the value, or allow any where it stands?"""
    roots = [schema.node for schema in (schemas.config, schemas.values) if schema]
    return not roots or any(_describes(node, path) for node in roots)


def _describes(node: Node, path: Sequence[str]) -> bool:
    for key in path:
        inner = node.properties.get(key)
        if inner is None:
            return node.additional not in (None, False)
        node = inner
    return True


async def check_build(addon: Addon, package: Package, builder: ObjectBuilder, scratch: Path) -> list[ModuleRemark]:
    """Remarks on the objects of an instance that sets nothing."""
    path = package_path(addon, package.version)
    try:
        built = await builder.build(_request(addon, package, unpack_package(package, scratch)))
    except BadValues as error:
        return [ModuleRemark(path, code="needs-values", text=f"{error}: the package was not built here")]
    except RenderFailed as error:
        if " has no value: " in str(error):
            return [ModuleRemark(path, code="needs-values", text=f"{error}: the package was not built here")]
        return [ModuleRemark(path, code="render-failed", text=f"cannot be built with default values: {error}")]
    except (BadChart, BadPatch) as error:
        return [ModuleRemark(path, code="chart-refused", text=str(error))]
    return list(_check_kinds(addon, package, built))


def _request(addon: Addon, package: Package, directory: Path) -> BuildRequest:
    instance = default_instance(addon)
    values = instance_values(addon, instance, package.version)
    return BuildRequest(
        addon=addon,
        instance=instance,
        package=package,
        directory=directory,
        values=values.document(instance.unit),
        namespace="default",
        capabilities=stock_capabilities(),
        quotes=True,
    )


def default_instance(addon: Addon) -> Instance:
    """An instance that sets nothing."""
    kind = addon.object
    metadata = {"name": "default"} | ({"namespace": "default"} if kind.namespaced else {})
    return read_instance(addon, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": {}})


def _check_kinds(addon: Addon, package: Package, built: BuiltRelease) -> Iterator[ModuleRemark]:
    """A remark for each kind that Kubernetes does not serve."""
    objects = [*built.rendered.objects, *(hook.obj for hook in built.rendered.hooks)]
    for api_version, kind in dict.fromkeys((str(obj["apiVersion"]), str(obj["kind"])) for obj in objects):
        if unserved := served_kinds.problem(api_version, kind, exact=True):
            words = (f"kind: {kind}".encode(), f"apiVersion: {api_version}".encode())
            names = (path for path, data in package.files.items() if all(word in data for word in words))
            path = package_path(addon, package.version, next(names, ""))
            yield ModuleRemark(path, code=served_kinds.CODE, text=unserved)
