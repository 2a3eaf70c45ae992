SELECT rec FROM step ORDER BY job_key, attempt, step
