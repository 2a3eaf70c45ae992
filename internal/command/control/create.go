package control

import (
	"context"
	"strings"

	"muster/internal/command/client"
	"muster/internal/wire"
)

// create is `scontrol create partition…`.
func (s *session) create(ctx context.Context, words []string) {
	key, value, glued := strings.Cut(words[0], "=")
	if !matches(key, "PartitionName", 4) {
		s.refuseEntity(words[0], "create", "Invalid creation entity: "+words[0])
		return
	}
	if !glued || value == "" {
		s.p.Error("Invalid input: %s  Request aborted", words[0])
		s.code = 1
		return
	}
	c := &change{entity: "partition", target: value}
	if len(words) > 1 {
		var refused []string
		if c, refused = c.take(pair(words[1:]), partitionKeys); c == nil {
			for _, line := range refused {
				s.fail("%s", line)
			}
			return
		}
	}
	if !s.check(c) {
		return
	}
	s.change(ctx, &wire.UpdateRequest{Entity: "partition", Target: value, Fields: c.fields, Create: true}, "Error creating the partition: ")
}

// remove is `scontrol delete partition=…`.
func (s *session) remove(ctx context.Context, words []string) {
	word := words[0]
	key, value, _ := strings.Cut(word, "=")
	if value == "" && len(words) > 1 {
		value = words[1]
	}
	if !matches(key, "PartitionName", 4) {
		s.refuseEntity(word, "delete", "Invalid deletion entity: "+word)
		return
	}
	s.change(ctx, &wire.UpdateRequest{Entity: "partition", Target: value, Delete: true}, "delete_partition "+word+": ")
}

// refuseEntity refuses what cannot be made or taken away by hand (yet).
func (s *session) refuseEntity(word, verb, unknown string) {
	key, _, _ := strings.Cut(word, "=")
	for _, later := range [...]string{"ReservationName", "NodeName"} {
		if matches(key, later, 3) {
			s.p.Error("not supported yet: %s %s", verb, strings.ToLower(strings.TrimSuffix(later, "Name")))
			s.code = 1
			return
		}
	}
	if verb == "create" {
		s.p.Error("%s", unknown)
		s.code = 1
		return
	}
	s.fail("%s", unknown)
}

// change sends a request; what the controller says against it stands after before.
func (s *session) change(ctx context.Context, req *wire.UpdateRequest, before string) {
	req.RequestId = client.RequestID()
	var reply *wire.UpdateReply
	err := s.c.Do(ctx, func(ctx context.Context, ctld wire.DRPCCtldClient) (err error) {
		reply, err = ctld.Update(ctx, req)
		return err
	})
	switch {
	case err != nil:
		s.fail("%s%v", before, err)
	case reply.Refusal.GetCode() != 0:
		s.fail("%s%s", before, reply.Refusal.Message)
	}
}
