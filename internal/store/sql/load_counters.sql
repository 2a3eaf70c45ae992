SELECT next_key, next_job_id FROM counter
