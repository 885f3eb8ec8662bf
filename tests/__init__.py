"""Tests of runwire; a package, so that its helpers run as `python -m tests.<name>`."""
