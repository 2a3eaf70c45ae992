package size

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseMemory(t *testing.T) {
	for in, want := range map[string]uint64{
		"4G": 4096, "4GB": 4096, "4gb": 4096, "10Gb": 10240, "2700mb": 2700, "1000m": 1000,
		"25000": 25000, "2048K": 2, "2047K": 2, "2049K": 3, "1K": 1, "16k": 1, "1T": 1 << 20,
		"1TB": 1 << 20, "0": 0, "0G": 0, "9999999999999": 9999999999999,
	} {
		got, err := ParseMemory(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, got, in)
	}
	for _, in := range []string{
		"", "-1", "1.5G", "0.5G", "4GiB", "G", "1B", "1P", "4 G", "0x10", "4GBB", " 4G",
		"999999999999999T", "9999999999999999999",
	} {
		_, err := ParseMemory(in)
		var e *Error
		assert.ErrorAs(t, err, &e, in)
	}
}

func TestParseCount(t *testing.T) {
	for in, want := range map[string]uint64{
		"0": 0, "7": 7, "1k": 1024, "1K": 1024, "2m": 2 << 20, "4G": 4 << 30, "1T": 1 << 40, "1p": 1 << 50,
	} {
		got, err := ParseCount(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, got, in)
	}
	for _, in := range []string{"", "k", "-1", "1kb", "1x", "1.5k", "99999999999P", "1["} {
		_, err := ParseCount(in)
		assert.Error(t, err, in)
	}
}

func TestFormat(t *testing.T) {
	for mib, want := range map[uint64]string{
		0: "0", 1: "1M", 100: "100M", 1500: "1500M", 4096: "4G", 1536: "1536M", 1 << 20: "1T", 1 << 40: "1024P",
	} {
		assert.Equal(t, want, FormatMemory(mib))
	}
	for n, want := range map[uint64]string{0: "0", 1000: "1000", 1024: "1K", 4 << 30: "4G", 1 << 60: "1024P"} {
		assert.Equal(t, want, FormatCount(n))
	}
}

func FuzzSize(f *testing.F) {
	for _, s := range []string{"4G", "2048K", "1000", "1tb", "0", "7p"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := ParseMemory(s); err == nil && v < 1<<40 && v%(1<<30) != 0 {
			again, err := ParseMemory(FormatMemory(v))
			if err != nil || again != v {
				t.Fatalf("memory %q: %d printed as %q reads as %d (%v)", s, v, FormatMemory(v), again, err)
			}
		}
		if v, err := ParseCount(s); err == nil {
			again, err := ParseCount(FormatCount(v))
			if err != nil || again != v {
				t.Fatalf("count %q: %d printed as %q reads as %d (%v)", s, v, FormatCount(v), again, err)
			}
		}
	})
}
