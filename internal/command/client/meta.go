package client

import "muster/internal/command/dataparser"

// Meta is what an answer as data says of the cluster and of the command, whose
// words are those of the command line if they are nil.
func (c *Client) Meta(words []string) dataparser.Meta {
	return dataparser.Meta{Cluster: c.Conf.Cluster, Storage: c.Conf.Get("AccountingStorageType"), Command: words}
}
