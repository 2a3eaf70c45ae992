package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"muster/internal/wire"
)

func TestParseJob(t *testing.T) {
	for word, want := range map[string]*wire.JobRef{
		"12": {JobId: 12}, "12x": {JobId: 12}, "12.batch": {JobId: 12}, "12+1": {JobId: 12}, "12 13": {JobId: 12},
		"12_3": {JobId: 12, Tasks: "3"}, "12_": {JobId: 12, Tasks: "0"}, "12_x": {JobId: 12, Tasks: "0"},
		"12_3_4": {JobId: 12, Tasks: "3"}, "12_[1-3,7]": {JobId: 12, Tasks: "1-3,7"}, "12_[1": nil, "12_[a]": nil,
		"": nil, "abc": nil, "-5": nil, "0": nil, "4294967295": nil, "3000000000": nil, "99999999999999999999": nil,
		"99999999999": {JobId: 1215752191}, // as a number of 32 bits
	} {
		got := parseJob(word)
		if want == nil {
			assert.Nil(t, got, word)
			continue
		}
		assert.Equal(t, want.JobId, got.GetJobId(), word)
		assert.Equal(t, want.Tasks, got.GetTasks(), word)
	}
}
