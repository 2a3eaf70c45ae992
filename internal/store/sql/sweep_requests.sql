DELETE FROM request
WHERE ctid = ANY (ARRAY(SELECT ctid FROM request WHERE at < $1 LIMIT 5000))
