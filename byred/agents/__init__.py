"""Agents: one task from claim to end, its server, its tools, and what it says."""
