package access

import (
	"fmt"
	"strings"
)

// Private is the set of things that PrivateData hides.
type Private uint16

// The words of PrivateData.
const (
	PrivateAccounts Private = 1 << iota
	PrivateEvents
	PrivateJobs
	PrivateNodes
	PrivatePartitions
	PrivateReservations
	PrivateUsage
	PrivateUsers
)

var privateWords = []struct {
	word string
	bit  Private
}{
	{"accounts", PrivateAccounts},
	{"events", PrivateEvents},
	{"jobs", PrivateJobs},
	{"nodes", PrivateNodes},
	{"partitions", PrivatePartitions},
	{"reservations", PrivateReservations},
	{"usage", PrivateUsage},
	{"users", PrivateUsers},
}

// ParsePrivate reads the value of PrivateData: words with commas between.
func ParsePrivate(value string) (Private, error) {
	var set Private
	if strings.EqualFold(value, "none") {
		return 0, nil
	}
	for word := range strings.SplitSeq(value, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		bit := privateBit(word)
		if bit == 0 {
			return 0, fmt.Errorf("PrivateData: %q is none of accounts, events, jobs, nodes, partitions, reservations, usage, users", word)
		}
		set |= bit
	}
	return set, nil
}

func privateBit(word string) Private {
	for _, known := range privateWords {
		if strings.EqualFold(word, known.word) {
			return known.bit
		}
	}
	return 0
}

// String writes the set as `scontrol show config` does.
func (p Private) String() string {
	var words []string
	for _, known := range privateWords {
		if p&known.bit != 0 {
			words = append(words, known.word)
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ",")
}
