"""Values and pure rules: what a task or a question may become, when to retry, how to name things.

Owns no clock, no disk and no await: callers hand in the time and get values back.
"""
