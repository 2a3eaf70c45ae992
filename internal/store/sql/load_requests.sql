-- The newest ones of the last hour; older or more are found one by one.
SELECT id, uid, at, reply FROM request WHERE at > $1 ORDER BY at DESC LIMIT $2
