"""The tool that writes `byred/codex/protocol/` from a codex binary's own schema, and compares two.

A developer's tool (`python -m byred.codex.generate`): nothing of the client imports it.
"""
