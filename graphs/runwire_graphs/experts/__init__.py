"""Experts: MCP servers that the planners hand tasks to. Two ship with the bundle; users add theirs by configuration."""
