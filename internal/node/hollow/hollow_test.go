package hollow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		script   string
		duration time.Duration
		status   int32
	}{
		{"#!/bin/sh\ntrue\n", 0, 0},
		{"#!/bin/sh\nsleep 2\nsleep 0.5\n", 2500 * time.Millisecond, 0},
		{"#!/bin/sh\n#HOLLOW exit=3 seconds=7\nsleep 100\n", 7 * time.Second, 3 << 8},
		{"#!/bin/sh\n#HOLLOW seconds=x\necho sleep 5\n", 0, 0},
	} {
		duration, status := plan([]byte(c.script))
		assert.Equal(t, c.duration, duration, c.script)
		assert.Equal(t, c.status, status, c.script)
	}
}
