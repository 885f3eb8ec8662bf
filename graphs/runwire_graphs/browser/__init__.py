"""A real browser for the graphs: one Chromium behind a gate, an isolated context per thread, tools to drive it."""
