package pki

import (
	"fmt"
	"strings"
)

// Files of this package.
const (
	// PublicFile is the public half, beside slurm.conf. Everybody may read it.
	PublicFile = "muster.pub"
	// KeyFile is the controller's private key with its CA certificate, in
	// StateSaveLocation, mode 0600.
	KeyFile = "controller-key.pem"
	// NodeFile is a node's private key with its certificate, in
	// SlurmdSpoolDir, mode 0600.
	NodeFile = "node-key.pem"
)

// ControllerName is the name that the controller's certificate bears.
const ControllerName = "ctld.muster"

const nodeSuffix = ".node.muster"

// NodeServerName is the name that a node's certificate bears.
func NodeServerName(node string) string { return node + nodeSuffix }

// checkNodeName refuses what cannot stand in a certificate as a DNS name.
func checkNodeName(node string) error {
	bad := strings.ContainsFunc(node, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
	if node == "" || len(node) > 200 || bad || strings.HasPrefix(node, ".") || strings.HasSuffix(node, ".") ||
		strings.HasPrefix(node, "-") || strings.Contains(node, "..") {
		return fmt.Errorf("node name %q cannot stand in a certificate: use letters, digits, - _ and .", node)
	}
	return nil
}
