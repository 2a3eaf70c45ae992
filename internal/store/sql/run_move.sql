-- A run written again with an end on the other side of a month's border: its
-- first row goes. $3 holds the neighbouring months.
DELETE FROM run r
USING unnest($1::bigint[], $2::bigint[], $3::int[]) AS u (key, attempt, month)
WHERE r.key = u.key AND r.attempt = u.attempt AND r.month = u.month
