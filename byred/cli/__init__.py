"""The `byre` command: what a person types to see and steer the daemon.

It owns words, tables and live views. Everything that it knows comes over the daemon's socket; it
opens no database, reads no settings and imports nothing of the daemon, so that it starts fast.
"""
