-- name: get
SELECT id FROM identity
