"""CustomResourceDefinitions: the kind itself; what they define is served elsewhere.

`kind` has the paths, `spec` the rules of a definition, `schema` and `structural` those of its OpenAPI schemas,
`internalform` explains why errors about versions may speak of ``spec.validation``. Not checked here: defaults
against their own schema, and the validity of CEL rules.
"""
