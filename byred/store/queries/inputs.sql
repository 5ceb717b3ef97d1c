-- name: insert
INSERT INTO inputs (task_id, kind, text, author, created_at)
VALUES (:task_id, :kind, :text, :author, :created_at)
RETURNING id

-- name: verify_rounds
-- Those since the last word and those since the last end, each by numbers that only grow: the clock
-- may have been put back.
SELECT min((
    SELECT count(*) FROM inputs
    WHERE task_id = :task_id AND kind = 'verify' AND id > coalesce((
        SELECT max(id) FROM inputs WHERE task_id = :task_id AND kind = 'tell'
    ), 0)
), (
    SELECT count(*) FROM events
    WHERE task_id = :task_id AND kind = 'task.verify_failed'
      AND data ->> '$.round' < data ->> '$.rounds'
      AND seq > coalesce((
          SELECT max(seq) FROM events
          WHERE task_id = :task_id
            AND kind IN ('task.succeeded', 'task.failed', 'task.cancelled')
      ), 0)
)) AS number

-- name: pending
SELECT * FROM inputs WHERE task_id = :task_id AND taken_at IS NULL ORDER BY id

-- name: of_task
SELECT * FROM inputs WHERE task_id = :task_id ORDER BY id

-- name: sent
UPDATE inputs SET sent_at = coalesce(sent_at, :at) WHERE id IN (SELECT value FROM json_each(:ids))

-- name: taken
UPDATE inputs SET taken_at = :at, turn_id = :turn_id
WHERE id IN (SELECT value FROM json_each(:ids))

-- name: unsent
UPDATE inputs SET sent_at = NULL WHERE task_id = :task_id

-- name: untaken
UPDATE inputs SET taken_at = NULL, turn_id = NULL
WHERE id IN (SELECT value FROM json_each(:ids))
