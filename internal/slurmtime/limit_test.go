package slurmtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseLimit(t *testing.T) {
	for in, want := range map[string]uint32{
		"30": 30, "0:30": 1, "4:00": 4, "90:00": 90, "1:30:00": 90, "960:00:00": 57600,
		"1-0": 1440, "1-": 1440, "1-00:00": 1440, "2-12": 3600, "0-00:29:59": 30,
		"00-00:15:00": 15, "0:7200": 120, "25:00:00": 1500, "1-25": 2940, "00:00:90": 2,
		"0:1": 1, "400-00:00:00": 576000, "1-0:0:0": 1440, "99999999": 99999999,
		"0": Unlimited, "-1": Unlimited, "0:0": Unlimited, "UNLIMITED": Unlimited,
		"infinite": Unlimited, "Infinite": Unlimited,
	} {
		got, err := ParseLimit(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, got, in)
	}
	for _, in := range []string{
		"", "1h", "60min", "1.5", " 5", "5 ", "1-:", "1::", ":", "1:", ":5", "1:2:3:4",
		"1-1:1:1:1", "-2", "+5", "1-1-1", "-1:00", "1 0", "0x10", "none", "1:-1", "99999999999",
		"4294967295", "9999999999-0",
	} {
		_, err := ParseLimit(in)
		var le *LimitError
		assert.ErrorAs(t, err, &le, in)
	}
}

func TestParseSpanKeepsZeroAndSeconds(t *testing.T) {
	sec, unlimited, err := ParseSpan("0")
	require.NoError(t, err)
	assert.False(t, unlimited)
	assert.Zero(t, sec)
	sec, _, err = ParseSpan("7-0")
	require.NoError(t, err)
	assert.EqualValues(t, 604800, sec)
	sec, _, err = ParseSpan("0:05")
	require.NoError(t, err)
	assert.EqualValues(t, 5, sec)
}

func TestFormats(t *testing.T) {
	for sec, want := range map[int64][2]string{
		6:     {"0:06", "00:00:06"},
		754:   {"12:34", "00:12:34"},
		3723:  {"1:02:03", "01:02:03"},
		93784: {"1-02:03:04", "1-02:03:04"},
		0:     {"0:00", "00:00:00"},
		-1:    {"INVALID", "INVALID"},
	} {
		assert.Equal(t, want[0], FormatElapsed(sec))
		assert.Equal(t, want[1], FormatClock(sec))
	}
	assert.Equal(t, "30:00", FormatLimit(30))
	assert.Equal(t, "UNLIMITED", FormatLimit(Unlimited))
	assert.Equal(t, "00:30:00", FormatLimitClock(30))
	assert.Equal(t, "UNLIMITED", FormatLimitClock(Unlimited))
	assert.Equal(t, "00:00:00", FormatCPU(0))
	assert.Equal(t, "01:02.345", FormatCPU(62345678*time.Microsecond))
	assert.Equal(t, "59:59.999", FormatCPU(time.Hour-time.Microsecond))
	assert.Equal(t, "01:00:00", FormatCPU(time.Hour))
	assert.Equal(t, "1-00:00:01", FormatCPU(24*time.Hour+1500*time.Millisecond))
}

func FuzzLimit(f *testing.F) {
	for _, s := range []string{"1-12:30:15", "90", "0:30", "infinite", "-1", "1-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseLimit(s)
		if err != nil {
			return
		}
		again, err := ParseLimit(FormatLimitClock(m))
		if err != nil || again != m {
			t.Fatalf("%q: %d printed as %q reads as %d (%v)", s, m, FormatLimitClock(m), again, err)
		}
	})
}
