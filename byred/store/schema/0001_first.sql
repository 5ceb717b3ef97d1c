-- Times are UTC, RFC 3339 with microseconds, so that their text sorts as they do.

-- "byre" in ASCII, so that no file of another program is taken for ours.
PRAGMA application_id = 0x62797265;

CREATE TABLE tasks (
    id            INTEGER PRIMARY KEY,
    key           TEXT UNIQUE,
    title         TEXT NOT NULL,
    slug          TEXT NOT NULL,
    prompt        TEXT NOT NULL,
    repo          TEXT NOT NULL,
    common_dir    TEXT NOT NULL,
    base          TEXT NOT NULL,
    base_commit   TEXT NOT NULL,
    branch        TEXT NOT NULL,
    worktree      TEXT NOT NULL UNIQUE,
    home          TEXT NOT NULL UNIQUE,
    identity      TEXT NOT NULL CHECK (json_valid(identity)),
    owner         TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN (
        'queued', 'blocked', 'preparing', 'running', 'waiting', 'verifying',
        'backing_off', 'held', 'succeeded', 'failed', 'cancelled')),
    reason        TEXT,
    parked        INTEGER NOT NULL DEFAULT 0 CHECK (parked IN (0, 1)),
    intent        TEXT CHECK (intent IN ('cancel', 'hold', 'interrupt')),
    hold          TEXT CHECK (hold IN ('person', 'interrupted', 'account', 'repair')),
    priority      INTEGER NOT NULL DEFAULT 0,
    labels        TEXT NOT NULL CHECK (json_valid(labels)),
    depends_on    TEXT NOT NULL CHECK (json_valid(depends_on)),
    attempt       INTEGER NOT NULL DEFAULT 0,
    failures      INTEGER NOT NULL DEFAULT 0,
    thread_id     TEXT,
    turn_id       TEXT,
    created_at    TEXT NOT NULL,
    started_at    TEXT,
    ended_at      TEXT,
    retry_at      TEXT,
    held_until    TEXT,
    tokens        TEXT NOT NULL CHECK (json_valid(tokens)),
    result        TEXT CHECK (result IS NULL OR json_valid(result)),
    error         TEXT CHECK (error IS NULL OR json_valid(error))
) STRICT;

-- Only the few tasks that can still move are looked up by state; ended ones pile up.
CREATE INDEX tasks_state ON tasks (state, id);
CREATE UNIQUE INDEX tasks_branch ON tasks (common_dir, branch);

CREATE TABLE attempts (
    task_id    INTEGER NOT NULL REFERENCES tasks (id),
    number     INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    outcome    TEXT,
    message    TEXT
) STRICT;

CREATE INDEX attempts_task ON attempts (task_id, number);

CREATE TABLE turns (
    task_id    INTEGER NOT NULL REFERENCES tasks (id),
    turn_id    TEXT NOT NULL,
    thread_id  TEXT NOT NULL,
    attempt    INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    status     TEXT,
    error      TEXT,
    PRIMARY KEY (task_id, turn_id)
) STRICT;

-- What is to be said to an agent: the prompt, what a person tells it, how it goes on.
-- `sent_at` is when a turn was first asked to take it, `taken_at` when the thread was seen to hold it.
CREATE TABLE inputs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id    INTEGER NOT NULL REFERENCES tasks (id),
    kind       TEXT NOT NULL CHECK (kind IN ('prompt', 'tell', 'continue', 'verify')),
    text       TEXT NOT NULL,
    author     TEXT NOT NULL,
    created_at TEXT NOT NULL,
    sent_at    TEXT,
    taken_at   TEXT,
    turn_id    TEXT
) STRICT;

CREATE INDEX inputs_task ON inputs (task_id, id);

CREATE TABLE questions (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id      INTEGER NOT NULL REFERENCES tasks (id),
    kind         TEXT NOT NULL CHECK (kind IN ('question', 'approval', 'input', 'elicitation')),
    text         TEXT NOT NULL,
    options      TEXT NOT NULL CHECK (json_valid(options)),
    context      TEXT NOT NULL,
    "default"    TEXT,
    deadline     TEXT,
    state        TEXT NOT NULL CHECK (state IN ('open', 'answered', 'withdrawn', 'expired')),
    answer       TEXT,
    answered_by  TEXT,
    asked_at     TEXT NOT NULL,
    answered_at  TEXT,
    delivered_at TEXT,
    thread_id    TEXT NOT NULL,
    turn_id      TEXT NOT NULL,
    call_id      TEXT NOT NULL,
    UNIQUE (task_id, thread_id, call_id)
) STRICT;

CREATE INDEX questions_state ON questions (state, id);
CREATE INDEX questions_open ON questions (task_id, id) WHERE state = 'open';

CREATE TABLE leases (
    kind       TEXT NOT NULL CHECK (kind IN ('port')),
    number     INTEGER NOT NULL,
    task_id    INTEGER NOT NULL REFERENCES tasks (id),
    name       TEXT NOT NULL,
    leased_at  TEXT NOT NULL,
    PRIMARY KEY (kind, number),
    UNIQUE (task_id, kind, name)
) STRICT;

CREATE TABLE processes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id    INTEGER NOT NULL REFERENCES tasks (id),
    pid        INTEGER NOT NULL,
    start_time INTEGER NOT NULL,
    boot_id    TEXT NOT NULL,
    launcher   TEXT NOT NULL,
    socket     TEXT,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    outcome    TEXT,
    usage      TEXT CHECK (usage IS NULL OR json_valid(usage))
) STRICT;

CREATE UNIQUE INDEX processes_alive ON processes (task_id) WHERE ended_at IS NULL;

CREATE TABLE events (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    at          TEXT NOT NULL,
    kind        TEXT NOT NULL,
    task_id     INTEGER REFERENCES tasks (id),
    question_id INTEGER REFERENCES questions (id),
    data        TEXT NOT NULL CHECK (json_valid(data))
) STRICT;

CREATE INDEX events_task ON events (task_id, seq);

-- A task with what the other tables know of it now.
CREATE VIEW task_rows AS
SELECT
    t.*,
    (SELECT json_group_array(q.id) FROM questions AS q
        WHERE q.task_id = t.id AND q.state = 'open') AS questions,
    (SELECT json_group_object(l.name, l.number) FROM leases AS l
        WHERE l.task_id = t.id AND l.kind = 'port') AS ports,
    (SELECT p.pid FROM processes AS p
        WHERE p.task_id = t.id AND p.ended_at IS NULL) AS pid
FROM tasks AS t;
