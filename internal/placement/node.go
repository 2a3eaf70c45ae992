package placement

import (
	"slices"

	"muster/internal/gres"
	"muster/internal/wire"
)

// Node is a node as a decision sees it: what it has and what is held.
type Node struct {
	Name     string
	Usable   bool   // up, responding, not draining: new work may start
	Why      string // if not usable: DOWN, DRAINED, …
	Weight   uint32
	Features []string

	Sockets        int
	CoresPerSocket int
	ThreadsPerCore int
	Memory         uint64 // MiB that jobs may have
	SpecCores      Cores  // kept for the system
	TmpDisk        uint64 // MiB

	Held    Cores  // cores that are not free
	HeldMem uint64 // MiB
	Jobs    int    // runs that hold something here
	Sole    bool   // held by an --exclusive run
	Users   []uint32
	Gres    []gres.Set
}

// NumCores is the number of cores that jobs may have, held or not.
func (n *Node) NumCores() int {
	return n.Sockets*n.CoresPerSocket - n.SpecCores.Count()
}

// FreeCores is the number of cores that nobody holds.
func (n *Node) FreeCores() int {
	free := n.NumCores() - n.Held.Count()
	return max(free, 0)
}

// FreeMem is the memory that nobody holds, MiB.
func (n *Node) FreeMem() uint64 {
	if n.HeldMem >= n.Memory {
		return 0
	}
	return n.Memory - n.HeldMem
}

// Hold books an allocation on the node.
func (n *Node) Hold(a *wire.NodeAlloc, uid uint32, sole bool) {
	if n.Held == nil {
		n.Held = NewCores(n.Sockets * n.CoresPerSocket)
	}
	for _, c := range a.Core {
		n.Held.Add(int(c))
	}
	n.HeldMem += a.Mem
	n.Jobs++
	n.Sole = n.Sole || sole
	if !slices.Contains(n.Users, uid) {
		n.Users = append(slices.Clone(n.Users), uid)
	}
	gres.Hold(n.Gres, a.Gres)
}

// Empty is the node with nothing held and in service, to tell "not now" from
// "never".
func (n *Node) Empty() Node {
	e := *n
	e.Usable, e.Held, e.HeldMem, e.Jobs, e.Sole, e.Users = true, nil, 0, 0, false, nil
	e.Gres = make([]gres.Set, len(n.Gres))
	for i, g := range n.Gres {
		g.Held, g.HeldCount = make([]bool, len(g.Index)), 0
		e.Gres[i] = g
	}
	return e
}

// Clone copies the node so that it can be held without changing n.
func (n *Node) Clone() Node {
	c := *n
	c.Held = n.Held.Clone()
	c.Gres = make([]gres.Set, len(n.Gres))
	for i, g := range n.Gres {
		g.Held = slices.Clone(g.Held)
		c.Gres[i] = g
	}
	return c
}

// pickCores takes the k lowest free cores.
func (n *Node) pickCores(k int) []uint32 {
	out := make([]uint32, 0, k)
	for i := 0; len(out) < k && i < n.Sockets*n.CoresPerSocket; i++ {
		if !n.Held.Has(i) && !n.SpecCores.Has(i) {
			out = append(out, uint32(i))
		}
	}
	return out
}
