-- The data of a known content is not written again. Ten minutes of slack spare
-- a write for each job of a loop.
INSERT INTO content AS c (uid, hash, last_used, data)
SELECT u.uid, u.hash, floor(extract(epoch FROM now()))::bigint, u.data
FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS u (uid, hash, data)
ON CONFLICT (uid, hash) DO UPDATE SET last_used = excluded.last_used
WHERE c.last_used < excluded.last_used - 600
