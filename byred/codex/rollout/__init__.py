"""The inner protocol of codex: what it records of a thread, read and written without loss.

A thread's rollout is a file of JSON lines. `reader` reads files of any size, whole or from their
end, and says what was broken; `line` and `types` say what a line means; `chain` follows a thread
through forks, reverts and resumed files; `history` tells it turn by turn; `render`, `search` and
`replay` are for people; `ops` has the submissions that go the other way. Nothing here knows of
tasks or of the app-server, and importing it costs a few milliseconds.
"""
