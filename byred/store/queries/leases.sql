-- name: of_task
SELECT * FROM leases WHERE task_id = :task_id AND kind = :kind ORDER BY number

-- name: taken
SELECT number FROM leases WHERE kind = :kind

-- name: take
INSERT INTO leases (kind, number, task_id, name, leased_at)
VALUES (:kind, :number, :task_id, :name, :leased_at)

-- name: give_back
DELETE FROM leases WHERE task_id = :task_id

-- name: give_back_one
DELETE FROM leases WHERE kind = :kind AND number = :number AND task_id = :task_id

-- name: of_ended
SELECT DISTINCT l.task_id FROM leases AS l CROSS JOIN tasks AS t ON t.id = l.task_id
WHERE t.state IN ('succeeded', 'failed', 'cancelled')
