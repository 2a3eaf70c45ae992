package placement

import "slices"

// fill gives each node room for one task and the rest to the first nodes that
// have room; nil if there is not enough. Tasks that share CPUs are dealt out
// evenly, as no node fills up with them.
func (r *Request) fill(fits []fit) []int {
	tasks := make([]int, len(fits))
	left := r.Tasks
	if left == 0 {
		left = len(fits)
	}
	for i := range fits {
		if left > 0 && fits[i].tasks > 0 {
			tasks[i]++
			left--
		}
	}
	if r.Overcommit || r.Exclusive {
		return deal(fits, tasks, left)
	}
	for i := range fits {
		more := min(left, fits[i].tasks-tasks[i])
		tasks[i] += more
		left -= more
	}
	if left > 0 {
		return nil
	}
	return tasks
}

// deal hands the tasks that are left out in turn, one a node each round.
func deal(fits []fit, tasks []int, left int) []int {
	for left > 0 {
		before := left
		for i := range fits {
			if left > 0 && tasks[i] < fits[i].tasks {
				tasks[i]++
				left--
			}
		}
		if left == before {
			return nil
		}
	}
	return tasks
}

// wide tells whether more nodes than suffice are wanted: --nodes=min-max takes
// as many of them as it can get, --spread-job as many as there are.
func (r *Request) wide() bool { return r.Spread || r.NodeRange && !r.FewNodes }

// widest is the largest number of nodes that a wide request can use.
func (r *Request) widest(have, most int) int {
	k := min(have, most)
	if r.Tasks > 0 {
		k = min(k, r.Tasks)
	}
	return max(k, r.MinNodes)
}

// neighbours finds the first nodes that suffice and follow one another in the
// configuration, the required ones among them.
func (r *Request) neighbours(fits []fit, must, least, most int) []fit {
	required := make(map[int]bool, must)
	for _, f := range fits[:must] {
		required[f.node] = true
	}
	line := slices.Clone(fits)
	slices.SortFunc(line, func(a, b fit) int { return a.node - b.node })
	for from := range line {
		missing := len(required)
		for to := from; to < len(line) && to-from < most; to++ {
			if to > from && line[to].node != line[to-1].node+1 {
				break
			}
			if required[line[to].node] {
				missing--
			}
			if run := line[from : to+1]; missing == 0 && len(run) >= least && r.enough(run) {
				return slices.Clone(run)
			}
		}
	}
	return nil
}
