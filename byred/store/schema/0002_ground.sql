-- The turns of a task are counted, and each may have a checkpoint: the commit that keeps its tree.
ALTER TABLE turns ADD COLUMN number INTEGER;
ALTER TABLE turns ADD COLUMN checkpoint TEXT;
UPDATE turns SET number = (
    SELECT count(*) FROM turns AS t WHERE t.task_id = turns.task_id AND t.rowid <= turns.rowid
);
CREATE UNIQUE INDEX turns_number ON turns (task_id, number);

-- What is known of a task's ground beside where it is: whose turn it began at, what became of its
-- work, whether its worktree was taken away, and what it takes on the disk.
CREATE TABLE grounds (
    task_id        INTEGER PRIMARY KEY REFERENCES tasks (id),
    forked_task    INTEGER REFERENCES tasks (id),
    forked_turn    INTEGER,
    merged         TEXT CHECK (merged IS NULL OR json_valid(merged)),
    removed_at     TEXT,
    worktree_bytes INTEGER,
    home_bytes     INTEGER
) STRICT;

CREATE INDEX grounds_forked_task ON grounds (forked_task) WHERE forked_task IS NOT NULL;

-- The repositories whose `.byre.toml` may run commands, by their common directory.
CREATE TABLE trusted (
    common_dir TEXT PRIMARY KEY,
    repo       TEXT NOT NULL,
    trusted_by TEXT NOT NULL,
    trusted_at TEXT NOT NULL
) STRICT;

DROP VIEW task_rows;

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
