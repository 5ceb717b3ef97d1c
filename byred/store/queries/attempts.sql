-- name: start
INSERT INTO attempts (task_id, number, started_at) VALUES (:task_id, :number, :started_at)

-- name: end
UPDATE attempts SET ended_at = :at, outcome = :outcome, message = :message
WHERE task_id = :task_id AND ended_at IS NULL

-- name: outcomes
SELECT outcome FROM attempts WHERE task_id = :task_id AND outcome LIKE :pattern
ORDER BY rowid DESC
LIMIT :newest

-- name: of_task
SELECT * FROM attempts WHERE task_id = :task_id ORDER BY rowid
