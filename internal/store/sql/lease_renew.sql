UPDATE lease SET expires = clock_timestamp() + make_interval(secs => $2) WHERE term = $1
