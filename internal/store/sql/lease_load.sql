SELECT cluster_id, batch, greatest(newest, floor(extract(epoch FROM clock_timestamp()))::bigint)
FROM lease WHERE term = $1
