"""``/version``: the Kubernetes release whose behaviour this server has."""

import platform
import sys
from typing import Final

VERSION: Final = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": f"python{sys.version_info.major}.{sys.version_info.minor}",
    "compiler": platform.python_implementation().lower(),
    "platform": f"{sys.platform}/amd64" if platform.machine() == "x86_64" else f"{sys.platform}/arm64",
}
