WITH j AS (DELETE FROM job WHERE key = ANY ($1::bigint[])),
     r AS (DELETE FROM job_request WHERE key = ANY ($1::bigint[]))
DELETE FROM step WHERE job_key = ANY ($1::bigint[])
