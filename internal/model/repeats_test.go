package model

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRepeats(t *testing.T) {
	assert.Equal(t, "4(x2)", Repeats([]uint32{4, 4}))
	assert.Equal(t, "6,2", Repeats([]uint32{6, 2}))
	assert.Equal(t, "1,2(x3),1", Repeats([]uint32{1, 2, 2, 2, 1}))
	assert.Empty(t, Repeats(nil))
}
