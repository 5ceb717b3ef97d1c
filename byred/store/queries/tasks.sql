-- name: next_id
SELECT coalesce(max(id), 0) + 1 AS id FROM tasks

-- name: insert
INSERT INTO tasks (
    id, key, title, slug, prompt, repo, common_dir, base,
    base_commit, branch, worktree, home, identity, owner, state, reason,
    parked, intent, hold, priority, labels, depends_on, attempt, failures,
    thread_id, turn_id, created_at, started_at, ended_at, retry_at, held_until, tokens,
    result, error
) VALUES (
    :id, :key, :title, :slug, :prompt, :repo, :common_dir, :base,
    :base_commit, :branch, :worktree, :home, :identity, :owner, :state, :reason,
    :parked, :intent, :hold, :priority, :labels, :depends_on, :attempt, :failures,
    :thread_id, :turn_id, :created_at, :started_at, :ended_at, :retry_at, :held_until, :tokens,
    :result, :error
)

-- name: save
UPDATE tasks SET
    title = :title,
    slug = :slug,
    prompt = :prompt,
    branch = :branch,
    worktree = :worktree,
    home = :home,
    identity = :identity,
    state = :state,
    reason = :reason,
    parked = :parked,
    intent = :intent,
    hold = :hold,
    priority = :priority,
    labels = :labels,
    depends_on = :depends_on,
    attempt = :attempt,
    failures = :failures,
    thread_id = :thread_id,
    turn_id = :turn_id,
    started_at = :started_at,
    ended_at = :ended_at,
    retry_at = :retry_at,
    held_until = :held_until,
    tokens = :tokens,
    result = :result,
    error = :error
WHERE id = :id

-- name: get
SELECT * FROM tasks WHERE id = :id

-- name: by_key
SELECT * FROM tasks WHERE key = :key

-- name: view
SELECT * FROM task_rows WHERE id = :id

-- name: views
SELECT * FROM task_rows
WHERE id < :before
  AND (:label IS NULL OR EXISTS (SELECT 1 FROM json_each(labels) WHERE value = :label))
ORDER BY id DESC
LIMIT :limit

-- name: views_in_states
SELECT * FROM task_rows
WHERE id IN (
    SELECT id FROM tasks
    WHERE state IN (SELECT value FROM json_each(:states))
      AND id < :before
      AND (:label IS NULL OR EXISTS (SELECT 1 FROM json_each(labels) WHERE value = :label))
    ORDER BY id DESC
    LIMIT :limit
)
ORDER BY id DESC

-- name: repositories
SELECT common_dir, max(repo) AS repo, max(coalesce(started_at, created_at)) AS used_at
FROM tasks GROUP BY common_dir

-- name: counts
SELECT state, count(*) AS number FROM tasks GROUP BY state

-- name: of_homes
SELECT id, home FROM tasks
WHERE home IN (SELECT value FROM json_each(:homes))
ORDER BY id

-- name: dependents
SELECT * FROM tasks
WHERE state = 'blocked' AND EXISTS (SELECT 1 FROM json_each(depends_on) WHERE value = :id)

-- name: unmet
SELECT id, state FROM tasks
WHERE id IN (SELECT value FROM json_each(:ids)) AND state <> 'succeeded'
ORDER BY id

-- name: known
SELECT id FROM tasks WHERE id IN (SELECT value FROM json_each(:ids))
