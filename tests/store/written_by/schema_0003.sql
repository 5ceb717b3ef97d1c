-- What a byred of schema 3 wrote, with tasks in the middle of their work. Never changed.
PRAGMA application_id = 1652126309;
PRAGMA user_version = 3;
BEGIN TRANSACTION;
CREATE TABLE attempts (
    task_id    INTEGER NOT NULL REFERENCES tasks (id),
    number     INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    outcome    TEXT,
    message    TEXT
) STRICT;
INSERT INTO "attempts" VALUES(1,1,'2026-03-01T12:00:00.000000Z',NULL,NULL,NULL);
INSERT INTO "attempts" VALUES(2,1,'2026-03-01T12:00:00.000000Z',NULL,NULL,NULL);
CREATE TABLE events (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    at          TEXT NOT NULL,
    kind        TEXT NOT NULL,
    task_id     INTEGER REFERENCES tasks (id),
    question_id INTEGER REFERENCES questions (id),
    data        TEXT NOT NULL CHECK (json_valid(data))
) STRICT;
INSERT INTO "events" VALUES(1,'2026-03-01T12:00:00.000000Z','task.running',1,NULL,'{}');
INSERT INTO "events" VALUES(2,'2026-03-01T12:00:00.000000Z','task.waiting',2,NULL,'{}');
INSERT INTO "events" VALUES(3,'2026-03-01T12:00:00.000000Z','task.queued',3,NULL,'{}');
INSERT INTO "events" VALUES(4,'2026-03-01T12:00:00.000000Z','task.succeeded',4,NULL,'{}');
CREATE TABLE grounds (
    task_id        INTEGER PRIMARY KEY REFERENCES tasks (id),
    forked_task    INTEGER REFERENCES tasks (id),
    forked_turn    INTEGER,
    merged         TEXT CHECK (merged IS NULL OR json_valid(merged)),
    removed_at     TEXT,
    worktree_bytes INTEGER,
    home_bytes     INTEGER
) STRICT;
INSERT INTO "grounds" VALUES(4,NULL,NULL,NULL,NULL,20,10);
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
INSERT INTO "inputs" VALUES(1,1,'prompt','Mend the door.','ada','2026-03-01T12:00:00.000000Z',NULL,NULL,NULL);
INSERT INTO "inputs" VALUES(2,2,'prompt','Mend the door.','ada','2026-03-01T12:00:00.000000Z',NULL,NULL,NULL);
INSERT INTO "inputs" VALUES(3,3,'prompt','Mend the door.','ada','2026-03-01T12:00:00.000000Z',NULL,NULL,NULL);
INSERT INTO "inputs" VALUES(4,4,'prompt','Mend the door.','ada','2026-03-01T12:00:00.000000Z',NULL,NULL,NULL);
CREATE TABLE leases (
    kind       TEXT NOT NULL CHECK (kind IN ('port')),
    number     INTEGER NOT NULL,
    task_id    INTEGER NOT NULL REFERENCES tasks (id),
    name       TEXT NOT NULL,
    leased_at  TEXT NOT NULL,
    PRIMARY KEY (kind, number),
    UNIQUE (task_id, kind, name)
) STRICT;
INSERT INTO "leases" VALUES('port',20001,1,'PORT','2026-03-01T12:00:00.000000Z');
INSERT INTO "leases" VALUES('port',20002,2,'PORT','2026-03-01T12:00:00.000000Z');
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
INSERT INTO "processes" VALUES(1,1,4242,1,'of another boot','plain',NULL,'2026-03-01T12:00:00.000000Z',NULL,NULL,NULL);
INSERT INTO "processes" VALUES(2,2,4242,1,'of another boot','plain',NULL,'2026-03-01T12:00:00.000000Z',NULL,NULL,NULL);
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
INSERT INTO "questions" VALUES(1,2,'question','Which door?','[]','',NULL,NULL,'open',NULL,NULL,'2026-03-01T12:00:00.000000Z',NULL,NULL,'thread-2','turn-2','call');
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
INSERT INTO "tasks" VALUES(1,NULL,'Task 1','task-1','Mend the door.','/r','/r/.git','main','0000000000000000000000000000000000000000','byre/1','/w/1','/s/1/home','{"name":"byre","email":"byre@localhost"}','ada','running',NULL,0,NULL,NULL,0,'[]','[]',1,0,'thread-1','turn-1','2026-03-01T12:00:00.000000Z','2026-03-01T12:00:00.000000Z',NULL,NULL,NULL,'{}',NULL,NULL);
INSERT INTO "tasks" VALUES(2,NULL,'Task 2','task-2','Mend the door.','/r','/r/.git','main','0000000000000000000000000000000000000000','byre/2','/w/2','/s/2/home','{"name":"byre","email":"byre@localhost"}','ada','waiting',NULL,0,NULL,NULL,0,'[]','[]',1,0,'thread-2','turn-2','2026-03-01T12:00:00.000000Z','2026-03-01T12:00:00.000000Z',NULL,NULL,NULL,'{}',NULL,NULL);
INSERT INTO "tasks" VALUES(3,NULL,'Task 3','task-3','Mend the door.','/r','/r/.git','main','0000000000000000000000000000000000000000','byre/3','/w/3','/s/3/home','{"name":"byre","email":"byre@localhost"}','ada','queued',NULL,0,NULL,NULL,0,'[]','[]',0,0,NULL,NULL,'2026-03-01T12:00:00.000000Z',NULL,NULL,NULL,NULL,'{}',NULL,NULL);
INSERT INTO "tasks" VALUES(4,NULL,'Task 4','task-4','Mend the door.','/r','/r/.git','main','0000000000000000000000000000000000000000','byre/4','/w/4','/s/4/home','{"name":"byre","email":"byre@localhost"}','ada','succeeded',NULL,0,NULL,NULL,0,'[]','[]',1,0,'thread-4',NULL,'2026-03-01T12:00:00.000000Z','2026-03-01T12:00:00.000000Z','2026-03-01T12:00:00.000000Z',NULL,NULL,'{}','{"summary":"Done.","commits":["a"],"files_changed":1,"dirty":false}',NULL);
CREATE TABLE trusted (
    common_dir TEXT PRIMARY KEY,
    repo       TEXT NOT NULL,
    trusted_by TEXT NOT NULL,
    trusted_at TEXT NOT NULL
) STRICT;
CREATE TABLE turns (
    task_id    INTEGER NOT NULL REFERENCES tasks (id),
    turn_id    TEXT NOT NULL,
    thread_id  TEXT NOT NULL,
    attempt    INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    status     TEXT,
    error      TEXT, number INTEGER, checkpoint TEXT,
    PRIMARY KEY (task_id, turn_id)
) STRICT;
INSERT INTO "turns" VALUES(1,'turn-1','thread-1',1,'2026-03-01T12:00:00.000000Z',NULL,NULL,NULL,1,NULL);
INSERT INTO "turns" VALUES(2,'turn-2','thread-2',1,'2026-03-01T12:00:00.000000Z',NULL,NULL,NULL,1,NULL);
CREATE INDEX tasks_state ON tasks (state, id);
CREATE UNIQUE INDEX tasks_branch ON tasks (common_dir, branch);
CREATE INDEX attempts_task ON attempts (task_id, number);
CREATE INDEX inputs_task ON inputs (task_id, id);
CREATE INDEX questions_state ON questions (state, id);
CREATE INDEX questions_open ON questions (task_id, id) WHERE state = 'open';
CREATE UNIQUE INDEX processes_alive ON processes (task_id) WHERE ended_at IS NULL;
CREATE INDEX events_task ON events (task_id, seq);
CREATE UNIQUE INDEX turns_number ON turns (task_id, number);
CREATE INDEX grounds_forked_task ON grounds (forked_task) WHERE forked_task IS NOT NULL;
CREATE INDEX tasks_line ON tasks (state, priority DESC, id, common_dir) WHERE state = 'queued';
CREATE VIEW task_rows AS
SELECT
    t.*,
    (SELECT json_group_array(q.id) FROM questions AS q
        WHERE q.task_id = t.id AND q.state = 'open') AS questions,
    (SELECT json_group_object(l.name, l.number) FROM leases AS l
        WHERE l.task_id = t.id AND l.kind = 'port') AS ports,
    (SELECT p.pid FROM processes AS p
        WHERE p.task_id = t.id AND p.ended_at IS NULL) AS pid,
    (SELECT coalesce(max(u.number), 0) FROM turns AS u WHERE u.task_id = t.id) AS turns,
    g.forked_task,
    g.forked_turn,
    g.merged,
    g.removed_at,
    g.worktree_bytes,
    g.home_bytes
FROM tasks AS t LEFT JOIN grounds AS g ON g.task_id = t.id;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('inputs',4);
INSERT INTO "sqlite_sequence" VALUES('events',4);
INSERT INTO "sqlite_sequence" VALUES('processes',2);
INSERT INTO "sqlite_sequence" VALUES('questions',1);
COMMIT;
