"""Custom resources: the kinds that CustomResourceDefinitions define, built from what they say.

- `definition` turns a stored definition into served kinds; `strategy` holds their rules
- `node` is a schema compiled once; `shaping` prunes and fills in by it, `validate` checks values against it
- `ratchet` forgives what an update did not touch; `listtypes` and `embedded` check what schemas say beyond values
- `columns` and `jsonpath` print rows; `scale` serves the scale path
- `cel` evaluates rules (``x-kubernetes-validations``)
- `establishing` negotiates names; `definitioncheck` refuses definitions that could not work

The definition as an object of its own is `kinds.crd`; establishing and cleaning up is `housekeeping.crds`.
"""
