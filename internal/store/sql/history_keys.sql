SELECT coalesce(min(key), 0), coalesce(max(key), -1) FROM run WHERE month >= $1 AND month <= $2
