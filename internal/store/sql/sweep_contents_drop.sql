-- A job that came to name one since has touched it.
DELETE FROM content c
USING unnest($1::bigint[], $2::bytea[]) AS u (uid, hash)
WHERE c.uid = u.uid AND c.hash = u.hash AND c.last_used < $3
