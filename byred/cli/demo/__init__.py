"""A demonstration of the main job, with a model that plays a script: no account, no network.

It is a client like any other: what it shows came over the socket or out of git.
"""
