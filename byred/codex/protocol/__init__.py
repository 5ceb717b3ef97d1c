"""The app-server's protocol as codex 0.163.0 describes it.

Written by `make protocol`; do not edit. `methods` has the names, `types` the types, which nothing
imports before it needs them.
"""
