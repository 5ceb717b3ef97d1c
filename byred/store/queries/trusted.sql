-- name: add
INSERT INTO trusted (common_dir, repo, trusted_by, trusted_at)
VALUES (:common_dir, :repo, :trusted_by, :trusted_at)
ON CONFLICT (common_dir) DO NOTHING

-- name: remove
DELETE FROM trusted WHERE common_dir = :common_dir

-- name: get
SELECT * FROM trusted WHERE common_dir = :common_dir

-- name: all
SELECT * FROM trusted ORDER BY repo
