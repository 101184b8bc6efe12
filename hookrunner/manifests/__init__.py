"""What happens to the objects of a package between its files and the cluster (see docs/packaging-addons.md).

Every step takes objects and returns new ones; nothing is changed in place, and no step talks to a cluster. Only
`kustomize` and `post_render` start processes, by `program_runner`. In the order of a build: `placeholders`,
`sourced_object`, `object_metadata`, `images`, `post_render`, `object_set`, `patches`.
"""
