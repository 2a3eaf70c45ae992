SELECT reply FROM request WHERE id = $1 AND uid = $2
