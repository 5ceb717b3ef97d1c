"""One module a verb, loaded only when that verb is called.

A module here defines `command`; its file name is the verb. Nothing else lists the verbs: a new one
is a new file.
"""
