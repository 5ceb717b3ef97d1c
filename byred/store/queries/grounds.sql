-- name: forked
INSERT INTO grounds (task_id, forked_task, forked_turn) VALUES (:task_id, :of, :turn)

-- name: merged
INSERT INTO grounds (task_id, merged) VALUES (:task_id, :merged)
ON CONFLICT (task_id) DO UPDATE SET merged = excluded.merged

-- name: removed
INSERT INTO grounds (task_id, removed_at) VALUES (:task_id, :at)
ON CONFLICT (task_id) DO UPDATE SET removed_at = excluded.removed_at

-- name: brought_back
UPDATE grounds SET removed_at = NULL WHERE task_id = :task_id

-- name: measured
INSERT INTO grounds (task_id, worktree_bytes, home_bytes) VALUES (:task_id, :worktree, :home)
ON CONFLICT (task_id) DO UPDATE SET
    worktree_bytes = excluded.worktree_bytes,
    home_bytes = excluded.home_bytes

-- name: get
SELECT * FROM grounds WHERE task_id = :task_id

-- name: removals
SELECT e.task_id, e.data, t.worktree, EXISTS (
    SELECT 1 FROM events AS later
    WHERE later.task_id = e.task_id AND later.seq > e.seq AND later.kind = 'task.removed'
) AS done
FROM grounds AS g JOIN events AS e ON e.seq = (
    SELECT max(seq) FROM events WHERE task_id = g.task_id AND kind = 'task.removing'
)
JOIN tasks AS t ON t.id = g.task_id
WHERE g.removed_at IS NOT NULL AND (:task_id IS NULL OR g.task_id = :task_id)
ORDER BY e.task_id
