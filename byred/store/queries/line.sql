-- name: queued
SELECT id, priority, common_dir FROM tasks
WHERE state = 'queued'
ORDER BY priority DESC, id

-- name: placed
SELECT id, priority, common_dir, state = 'waiting' AS waiting FROM tasks
WHERE state IN ('preparing', 'running', 'waiting', 'verifying') AND parked = 0
ORDER BY id

-- name: due
SELECT id FROM tasks
WHERE state = 'backing_off' AND (retry_at <= :now OR retry_at > :latest)
ORDER BY id

-- name: next_due
SELECT min(retry_at) AS at FROM tasks WHERE state = 'backing_off' AND retry_at > :now

-- name: unblocked
SELECT id FROM tasks AS t
WHERE state = 'blocked' AND NOT EXISTS (
    SELECT 1 FROM json_each(t.depends_on) AS d CROSS JOIN tasks AS o ON o.id = d.value
    WHERE o.state <> 'succeeded'
)
ORDER BY id

-- name: held_for_account
SELECT id FROM tasks WHERE state = 'held' AND hold = 'account' ORDER BY priority DESC, id
