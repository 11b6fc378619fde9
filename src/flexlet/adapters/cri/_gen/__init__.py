"""Messages generated from cri.proto by tools/cri/generate; not edited by hand."""
