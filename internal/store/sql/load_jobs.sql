SELECT j.key, j.rec, r.spec FROM job j LEFT JOIN job_request r ON r.key = j.key ORDER BY j.key
