package command

import "strings"

// OwnCluster checks a list of clusters against the one that there is: it says
// which names nobody knows, and tells whether the own cluster is among them. The
// list came from an option or a variable, which by names.
func (p *Program) OwnCluster(list, by, own string) bool {
	if list == "all" {
		return true
	}
	found := false
	for name := range strings.SplitSeq(list, ",") {
		if name == own {
			found = true
			continue
		}
		p.Error("No cluster '%s' known by database.", name)
	}
	if !found {
		p.Error("'%s' can't be reached now, or it is an invalid entry for %s.  "+
			"Use 'sacctmgr list clusters' to see available clusters.", list, by)
	}
	return found
}
