"""Settings of all suites."""

import os

from hypothesis import settings

# A run that decides about a change must not depend on luck; everywhere else new examples are welcome. There are no
# deadlines, for machines are busy, and few enough examples that nobody waits for them.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=60, print_blob=True)
settings.register_profile("local", deadline=None, max_examples=60)
settings.load_profile("ci" if os.environ.get("CI") else "local")
