package placement

import (
	"cmp"
	"slices"

	"muster/internal/gres"
	"muster/internal/wire"
)

// Place chooses nodes for the request among candidates (numbers into nodes, in
// the order in which they are preferred) and says how many tasks and which
// cores, memory and devices the job gets on each. Nodes in must are part of
// every answer. nil means that it does not fit now.
func Place(r *Request, nodes []Node, candidates, must []int, o *Options) []*wire.NodeAlloc {
	fits := r.fits(nodes, candidates, must)
	if fits == nil && len(must) > 0 {
		return nil
	}
	chosen := r.choose(fits, len(must), o)
	if chosen == nil {
		return nil
	}
	return r.spread(chosen)
}

// Single tells whether one node can only be the answer, or the first choice:
// then the first candidate that suffices alone is taken.
func (r *Request) Single(must []int, o *Options) bool {
	return !r.wide() && r.MinNodes <= 1 && len(must) == 0 && !o.LLN
}

// Divisible tells whether the request can be spread over several nodes.
func (r *Request) Divisible() bool {
	return r.MaxNodes > 1 && (r.Tasks > 1 || len(r.PerJob) > 0)
}

// PlaceOne looks, from position from on, for the first candidate that suffices
// alone. next is where a later search for the same shape may begin while
// nothing is freed; alloc is nil if there is none.
func PlaceOne(r *Request, nodes []Node, candidates []int, from int) (alloc []*wire.NodeAlloc, next int) {
	limit := max(r.Tasks, 1)
	for k := from; k < len(candidates); k++ {
		i := candidates[k]
		f := fit{node: i, n: &nodes[i]}
		if !r.suits(f.n) || !r.shareable(f.n) || (r.TasksPerNode > 0 && limit > r.TasksPerNode) || !r.holds(f.n, limit, nil) {
			continue
		}
		f.tasks = limit
		if one := []fit{f}; r.enough(one) {
			return r.spread(one), k
		}
	}
	return nil, len(candidates)
}

// fits lists what each candidate offers, the required nodes first. It is nil
// when a required node offers nothing.
func (r *Request) fits(nodes []Node, candidates, must []int) []fit {
	var out []fit
	limit := r.Tasks
	if limit == 0 {
		limit = 1 // one task a node
	}
	for _, i := range must {
		f := fit{node: i, n: &nodes[i], tasks: r.most(&nodes[i], limit)}
		if f.tasks == 0 {
			return nil
		}
		out = append(out, f)
	}
	for _, i := range candidates {
		if slices.Contains(must, i) {
			continue
		}
		if t := r.most(&nodes[i], limit); t > 0 {
			out = append(out, fit{node: i, n: &nodes[i], tasks: t})
		}
	}
	return out
}

// choose takes the first nodes that together suffice: a single one if one
// does, else in order of preference, and the roomiest ones when the number of
// nodes is bounded.
func (r *Request) choose(fits []fit, must int, o *Options) []fit {
	least := max(r.MinNodes, must)
	most := max(r.MaxNodes, must)
	if len(fits) < least {
		return nil
	}
	if o.LLN {
		slices.SortStableFunc(fits[must:], func(a, b fit) int {
			return cmp.Compare(b.n.FreeCores(), a.n.FreeCores())
		})
	}
	if r.Contiguous {
		return r.neighbours(fits, must, least, most)
	}
	if r.wide() {
		if got := r.prefix(fits, r.widest(len(fits), most), most); got != nil {
			return got
		}
	}
	if least == 1 && must == 0 {
		for i := range fits {
			if r.enough(fits[i : i+1]) {
				return fits[i : i+1]
			}
		}
	}
	if got := r.prefix(fits, least, most); got != nil {
		return got
	}
	roomiest := slices.Clone(fits)
	slices.SortStableFunc(roomiest[must:], func(a, b fit) int {
		return cmp.Or(cmp.Compare(r.freeShares(b.n), r.freeShares(a.n)), cmp.Compare(b.tasks, a.tasks))
	})
	if got := r.prefix(roomiest, least, most); got != nil {
		// Back into the order of preference.
		slices.SortStableFunc(got[must:], func(a, b fit) int { return cmp.Compare(a.node, b.node) })
		return got
	}
	return nil
}

// prefix is the shortest run of the first fits, between least and most long,
// that suffices.
func (r *Request) prefix(fits []fit, least, most int) []fit {
	for k := least; k <= len(fits) && k <= most; k++ {
		if r.enough(fits[:k]) {
			return slices.Clone(fits[:k])
		}
	}
	return nil
}

// enough tells whether the nodes can take all tasks and job-wide devices.
func (r *Request) enough(fits []fit) bool {
	tasks := 0
	for _, f := range fits {
		tasks += f.tasks
	}
	if tasks < r.Tasks {
		return false
	}
	if len(r.PerJob) == 0 {
		return true
	}
	return r.spread(fits) != nil
}

// spread settles what each node gives: room for one task each, the rest from
// the first nodes on, as Slurm's consumable resources do; and the job-wide
// devices likewise.
func (r *Request) spread(fits []fit) []*wire.NodeAlloc {
	tasks := r.fill(fits)
	if tasks == nil {
		return nil
	}
	shares, ok := r.shares(fits)
	if !ok {
		return nil
	}
	out := make([]*wire.NodeAlloc, len(fits))
	for i, f := range fits {
		if shares != nil && !r.holds(f.n, tasks[i], shares[i]) {
			return nil
		}
		var share []uint64
		if shares != nil {
			share = shares[i]
		}
		out[i] = r.alloc(f.n, tasks[i], share)
	}
	return out
}

// shares deals out the devices of --gpus over the nodes: each node at least
// one where there are enough, the rest to the first nodes that have them.
func (r *Request) shares(fits []fit) (shares [][]uint64, ok bool) {
	if len(r.PerJob) == 0 {
		return nil, true
	}
	shares = make([][]uint64, len(fits))
	for i := range shares {
		shares[i] = make([]uint64, len(r.PerJob))
	}
	for g, req := range r.PerJob {
		left := req.Count
		free := make([]uint64, len(fits))
		for i := range fits {
			free[i] = gres.Available(fits[i].n.Gres, req.Name, req.Type)
			if left > 0 && free[i] > 0 {
				shares[i][g], left = 1, left-1
			}
		}
		for i := range fits {
			more := min(left, free[i]-min(free[i], shares[i][g]))
			shares[i][g] += more
			left -= more
		}
		if left > 0 {
			return nil, false
		}
	}
	return shares, true
}

// freeShares counts the free devices that the job-wide requests could use.
func (r *Request) freeShares(n *Node) uint64 {
	sum := uint64(0)
	for _, g := range r.PerJob {
		sum += gres.Available(n.Gres, g.Name, g.Type)
	}
	return sum
}
