UPDATE lease SET expires = '-infinity' WHERE term = $1
