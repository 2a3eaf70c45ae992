-- Every content that a new request names must be there, and is used now. One
-- that was used in the last ten minutes is safe from the sweep as it is; an
-- older one is rewritten, which waits for a sweep that is deleting it.
WITH u AS (
    SELECT * FROM unnest($1::bigint[], $2::bytea[]) AS u (uid, hash)),
fresh AS (
    SELECT count(*) AS n FROM u JOIN content c ON c.uid = u.uid AND c.hash = u.hash
    WHERE c.last_used >= floor(extract(epoch FROM now()))::bigint - 600),
touched AS (
    UPDATE content c SET last_used = floor(extract(epoch FROM now()))::bigint
    FROM u
    WHERE c.uid = u.uid AND c.hash = u.hash AND c.last_used < floor(extract(epoch FROM now()))::bigint - 600
    RETURNING 1)
SELECT expect_rows((SELECT n FROM fresh) + (SELECT count(*) FROM touched), cardinality($1::bigint[]),
                   'scripts or environments')
