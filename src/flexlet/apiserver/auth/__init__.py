"""Who is asking, and may they: certificates, tokens, RBAC, the Node authorizer, reviews, first objects.

Authentication turns a connection and its headers into a `contract.request.User`; authorization turns the user
and the request's attributes into a `Decision`. Both read stored objects through `contract.admission.View` only and
never write. Follows kube-apiserver run with ``--authorization-mode=Node,RBAC``.

Modules, lowest first: `files`, `certificates`, `requests`, `pki`, `kubeconfig`; `versions`; `credentials`, `jwt`,
`accounttokens`, `tokens`, `bootstraptokens`, `authenticate`; `rules`, `rbac`, `podgraph`, `node`, `authorize`;
`impersonate`, `escalation`, `aggregation`, `reviewspecs`, `reviews`; `bootstrap` (what a new server starts with).
"""
