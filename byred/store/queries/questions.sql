-- name: insert
INSERT INTO questions (task_id, kind, text, options, context, "default", deadline, state, answer, answered_by, asked_at, answered_at, delivered_at, thread_id, turn_id, call_id)
VALUES (:task_id, :kind, :text, :options, :context, :default, :deadline, :state, :answer, :answered_by, :asked_at, :answered_at, :delivered_at, :thread_id, :turn_id, :call_id)
RETURNING id

-- name: save
UPDATE questions SET
    state = :state,
    answer = :answer,
    answered_by = :answered_by,
    answered_at = :answered_at,
    delivered_at = :delivered_at
WHERE id = :id

-- name: get
SELECT * FROM questions WHERE id = :id

-- name: by_call
SELECT * FROM questions
WHERE task_id = :task_id AND thread_id = :thread_id AND call_id = :call_id

-- name: open_of_task
SELECT * FROM questions WHERE task_id = :task_id AND state = 'open' ORDER BY id

-- name: closed_for_thread
SELECT * FROM questions
WHERE task_id = :task_id AND state <> 'open'
    AND (thread_id = :thread_id OR delivered_at IS NULL)
ORDER BY id

-- name: move
UPDATE questions SET thread_id = :thread_id WHERE id = :id

-- name: listing
SELECT * FROM questions WHERE id < :before ORDER BY id DESC LIMIT :limit

-- name: listing_in_states
SELECT * FROM questions
WHERE state IN (SELECT value FROM json_each(:states)) AND id < :before
ORDER BY id DESC
LIMIT :limit

-- name: listing_of_task
SELECT * FROM questions
WHERE task_id = :task_id
  AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
  AND id < :before
ORDER BY id DESC
LIMIT :limit

-- name: next_deadline
SELECT min(deadline) AS deadline FROM questions WHERE state = 'open' AND deadline IS NOT NULL

-- name: past_deadline
SELECT * FROM questions WHERE state = 'open' AND deadline <= :now ORDER BY id

-- name: count_open
SELECT count(*) AS number FROM questions WHERE state = 'open'
