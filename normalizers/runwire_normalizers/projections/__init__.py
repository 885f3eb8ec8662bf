"""One file per form in which a run leaves, made of its envelopes alone: `feed(envelope)` gives what it brings about."""
