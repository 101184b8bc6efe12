"""CustomResourceDefinitions as pure functions: their validation, the kinds that they serve, and their objects.

`definitions/` judges a definition, `versions` makes `Kind`s of it, `prune`, `defaults` and `validate` treat
the objects in that order, `versions` and `scaling` show an object in another version or as a `Scale`.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""
