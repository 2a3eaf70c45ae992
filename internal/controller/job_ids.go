package controller

import "muster/internal/model"

// takeKey gives out a job key; keys are never used again.
func (s *State) takeKey() model.JobKey {
	k := s.nextKey
	s.nextKey++
	s.out.counted = true
	return k
}

// takeID gives out a job id: the next one that nothing live carries, from
// FirstJobId again after MaxJobId. When all of these are in use, submissions are
// refused; what needs an id all the same (a task of an array that starts) gets
// one beyond.
func (s *State) takeID() uint32 {
	id, ok := s.freeID()
	s.out.counted = true
	if ok {
		s.nextID = id + 1
		return id
	}
	for id = max(s.set.MaxJobID, s.set.FirstJobID+1); !s.unused(id); {
		id++
	}
	return id
}

// freeID is the id that takeID would give, false when all are in use.
func (s *State) freeID() (uint32, bool) {
	id := s.nextID
	for tried := uint32(0); tried == 0 || tried < s.set.MaxJobID-min(s.set.FirstJobID, s.set.MaxJobID); tried++ {
		if id < s.set.FirstJobID || id >= s.set.MaxJobID {
			id = s.set.FirstJobID
		}
		if s.unused(id) {
			return id, true
		}
		id++
	}
	return 0, false
}

func (s *State) unused(id uint32) bool { return s.byID[id] == nil && s.arrays[id] == nil }

// enter puts a new record into the tables of the state.
func (s *State) enter(j *job) {
	st := j.st
	s.jobs[st.Key] = j
	s.byID[st.JobId] = j
	if st.ArrayJobId != 0 {
		a := s.arrays[st.ArrayJobId]
		if a == nil {
			a = &array{id: st.ArrayJobId, members: map[model.JobKey]*job{}}
			s.arrays[st.ArrayJobId] = a
		}
		a.members[st.Key] = j
		j.arr = a
		if !st.IsArrayTask {
			a.pending = j
		}
	}
}

// forget takes a record out of them.
func (s *State) forget(j *job) {
	st := j.st
	delete(s.jobs, st.Key)
	if s.byID[st.JobId] == j {
		delete(s.byID, st.JobId)
	}
	if a := j.arr; a != nil {
		delete(a.members, st.Key)
		if a.pending == j {
			a.pending = nil
		}
		if len(a.members) == 0 {
			delete(s.arrays, a.id)
		}
	}
}

// purge removes a record that is final for long enough.
func (s *State) purge(j *job) {
	j.gone = true
	s.alarms.set(&j.alarm, 0)
	s.unqueue(j)
	s.dropDeps(j)
	s.forget(j)
	s.out.purged = append(s.out.purged, j)
}
