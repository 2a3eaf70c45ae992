package controller

import "strings"

// features are the node's active features.
func features(n *node) []string {
	text := n.st.FeaturesActive
	if text == "" {
		text = n.conf.Features
	}
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
