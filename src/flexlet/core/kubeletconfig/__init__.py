"""``KubeletConfiguration`` (kubelet.config.k8s.io/v1beta1): the file that node operators already have.

`config` holds the fields that exist here with upstream's defaults, `support` names those that do not and says what
to do instead, `reading` turns a document into the Struct, `checks` and its neighbours are upstream's rules.
`uses` translates it into what other parts of the core take. Follows the kubelet 1.36.3
(``pkg/kubelet/apis/config/{v1beta1/defaults,validation}``).

What must stay true: a field is honoured or refused, never silently ignored; all problems are reported at once.
"""
