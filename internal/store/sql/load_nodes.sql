SELECT rec FROM node_state ORDER BY name
