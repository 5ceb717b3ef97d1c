-- name: insert
INSERT INTO processes (task_id, pid, start_time, boot_id, launcher, socket, started_at)
VALUES (:task_id, :pid, :start_time, :boot_id, :launcher, :socket, :started_at)
RETURNING id

-- name: ended
UPDATE processes SET ended_at = :at, outcome = :outcome, usage = :usage
WHERE task_id = :task_id AND ended_at IS NULL

-- name: alive
SELECT * FROM processes WHERE ended_at IS NULL ORDER BY task_id

-- name: alive_of_task
SELECT * FROM processes WHERE task_id = :task_id AND ended_at IS NULL
