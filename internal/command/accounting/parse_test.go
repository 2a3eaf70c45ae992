package accounting

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"muster/internal/wire"
)

func TestParseRef(t *testing.T) {
	for word, want := range map[string]*wire.JobRef{
		"12":          {JobId: 12},
		"12x":         {JobId: 12},
		"12_3":        {JobId: 12, Tasks: "3"},
		"12+1":        {JobId: 12},
		"12_3.0":      {JobId: 12, Tasks: "3", HasStep: true},
		"12.batch":    {JobId: 12, HasStep: true, Step: int32(wire.StepNumber_STEP_BATCH)},
		"99999999999": {JobId: 1<<32 - 1},
	} {
		ref, complaint := parseRef(word)
		assert.Empty(t, complaint, word)
		assert.Equal(t, want.String(), ref.String(), word)
	}
	for word, want := range map[string]string{
		"x": "Bad job/step specified: x", "1_": "Bad job array element specified: 1", "1_[2-3]": "Bad job array element specified: 1",
		"1+x": "Bad hetjob offset specified: 1", "1.x": "Bad step specified: 1",
	} {
		_, complaint := parseRef(word)
		assert.Equal(t, want, complaint, word)
	}
}

func TestUnits(t *testing.T) {
	const text = "cpu=1,mem=1.50G,node=1"
	for want, c := range map[string]Context{
		text:                        {},
		"cpu=1,mem=1536M,node=1":    {NoConvert: true},
		"cpu=1,mem=1572864K,node=1": {Unit: 'K'},
		"cpu=1,mem=0.00T,node=1":    {Unit: 'T', NoConvert: true},
	} {
		r := Row{Context: &c}
		assert.Equal(t, want, r.tres(text))
	}
}
