SELECT rec FROM partition_state ORDER BY name
