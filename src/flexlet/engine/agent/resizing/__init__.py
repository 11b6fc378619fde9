"""Following the machine: a plan of `core.hotplug` is carried out here, one size at a time."""
