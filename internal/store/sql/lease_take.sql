-- Waits for a commit in flight (its fence holds the row) and then sees the
-- expiry that the commit has moved.
UPDATE lease
SET term = term + 1, batch = batch + 1, holder = $1,
    expires = clock_timestamp() + make_interval(secs => $2)
WHERE expires < clock_timestamp() OR holder = $1
RETURNING term, batch, cluster_id
