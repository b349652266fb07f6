"""How hard the property tests try: ``HYPOTHESIS_PROFILE=fuzz`` (make fuzz), ``CI=true``."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Nothing is left in the home of who runs the tests.
os.environ["COMPACTCTL_CACHE"] = "off"

# Whole transcripts are big to draw, and a busy machine is no fault of theirs.
COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}

settings.register_profile("quick", max_examples=15, **COMMON)
settings.register_profile("ci", max_examples=20, derandomize=True, print_blob=True, **COMMON)
settings.register_profile("fuzz", max_examples=600, **COMMON)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") == "true" else "quick")
)
