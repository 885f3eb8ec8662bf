"""Property tests repeat: the same examples in every run, and no limit by the clock on a noisy machine."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
