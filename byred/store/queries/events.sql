-- name: append
INSERT INTO events (at, kind, task_id, question_id, data)
VALUES (:at, :kind, :task_id, :question_id, :data)
RETURNING seq

-- name: after
SELECT * FROM events WHERE seq > :after ORDER BY seq LIMIT :limit

-- name: of_task
SELECT * FROM events WHERE task_id = :task_id AND seq > :after ORDER BY seq LIMIT :limit

-- name: newest
SELECT coalesce(max(seq), 0) AS seq FROM events
