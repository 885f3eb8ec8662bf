"""What the core costs, row by row against its goals: `python -m benchmarks`. Figures are reported, never asserted."""
