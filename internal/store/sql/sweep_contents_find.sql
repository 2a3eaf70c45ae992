-- Contents that no live job names.
SELECT uid, hash FROM content c
WHERE last_used < $1
  AND NOT EXISTS (SELECT FROM job_request r WHERE r.uid = c.uid AND r.script = c.hash)
  AND NOT EXISTS (SELECT FROM job_request r WHERE r.uid = c.uid AND r.environment = c.hash)
LIMIT 5000
