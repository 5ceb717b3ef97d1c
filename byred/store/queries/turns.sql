-- name: start
INSERT INTO turns (task_id, turn_id, thread_id, attempt, started_at, number)
VALUES (:task_id, :turn_id, :thread_id, :attempt, :started_at, (
    SELECT coalesce(max(number), 0) + 1 FROM turns WHERE task_id = :task_id
))
ON CONFLICT (task_id, turn_id) DO NOTHING

-- name: end
UPDATE turns SET ended_at = :at, status = :status, error = :error
WHERE task_id = :task_id AND turn_id = :turn_id AND ended_at IS NULL

-- name: newest
SELECT * FROM turns WHERE task_id = :task_id ORDER BY number DESC LIMIT 1

-- name: newest_kept
SELECT * FROM turns WHERE task_id = :task_id AND number < :before AND checkpoint IS NOT NULL
ORDER BY number DESC LIMIT 1

-- name: by_number
SELECT * FROM turns WHERE task_id = :task_id AND number = :number

-- name: kept
UPDATE turns SET checkpoint = :checkpoint WHERE task_id = :task_id AND number = :number

-- name: of_task
SELECT * FROM turns WHERE task_id = :task_id AND number > :after ORDER BY number LIMIT :limit
