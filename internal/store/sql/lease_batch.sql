SELECT batch FROM lease WHERE term = $1
