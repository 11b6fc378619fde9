"""Rules of custom resources, written in CEL (``x-kubernetes-validations``)."""
