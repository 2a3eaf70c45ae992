DELETE FROM step s
USING unnest($1::bigint[], $2::bigint[], $3::int[]) AS u (job_key, attempt, step)
WHERE s.job_key = u.job_key AND s.attempt = u.attempt AND s.step = u.step
