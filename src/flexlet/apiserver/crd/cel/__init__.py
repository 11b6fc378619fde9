"""Rules of custom resources, written in CEL (``x-kubernetes-validations``), evaluated by an evaluator of our own.

- `tokens` and `parser` read an expression, `syntax` is what they make of it
- `compiler` turns that into closures; `operators`, `access`, `loops` and `functions` are what they call
- `values` are CEL's values and how a schema makes them of JSON
- `rules` finds the rules of a schema and asks them about an object

A useful part of the language, not all of it: types are looked at while evaluating, not before, and of the
libraries there is what definitions commonly use. A rule that needs more is not evaluated, and whoever creates the
definition is warned (`crd.rulecheck`).
"""
