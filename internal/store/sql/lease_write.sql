-- A new writing connection: shuts out what an older one may still have in
-- flight, and waits for it if it has begun.
UPDATE lease SET writer = writer + 1 WHERE term = $1 RETURNING writer, batch
