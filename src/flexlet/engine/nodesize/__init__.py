"""The shell around the sizing of nodes: machines, kubelets' configurations, and who leads."""
