"""Whether a CustomResourceDefinition is right, in the API server's words, and the status that it gets.

`definition` has the whole; `structure` and `constructs` judge its schema, `columns` its table, `definition_status` has
names, conditions and approval.
"""
