-- Which database this is: what it keeps in a repository, where another byred may keep something of
-- a task with the same number, bears the end of it. A backup has the identity of what it is of; so
-- that this holds for those from before this step, too, it is then the moment of the first task.
CREATE TABLE identity (
    id TEXT NOT NULL CHECK (length(id) = 16)
) STRICT;

INSERT INTO identity (id)
SELECT coalesce((
    SELECT printf(
        '%016x',
        CAST(strftime('%s', created_at) AS INTEGER) * 1000000
            + CAST(substr(created_at, 21, 6) AS INTEGER)
    )
    FROM tasks ORDER BY id LIMIT 1
), lower(hex(randomblob(8))));
