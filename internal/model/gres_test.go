package model

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"muster/internal/wire"
)

func TestGresText(t *testing.T) {
	assert.Equal(t, "gpu:a100:3(IDX:0-1,4)", GresText(&wire.GresAlloc{Name: "gpu", Type: "a100", Count: 3, Index: []uint32{4, 0, 1}}))
	assert.Equal(t, "craynetwork:1", GresText(&wire.GresAlloc{Name: "craynetwork", Count: 1}))
	assert.Empty(t, NumberRanges(nil))
}
