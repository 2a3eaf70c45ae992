package slurmtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A Monday evening; the expectations are what Slurm's sbatch said at that time.
var now = time.Date(2026, 11, 30, 21, 30, 30, 500e6, time.UTC)

func TestParseAhead(t *testing.T) {
	for in, want := range map[string]string{
		"16:00":               "2026-12-01T16:00:00",
		"16:00:05":            "2026-12-01T16:00:05",
		"23:59":               "2026-11-30T23:59:00",
		"00:00":               "2026-12-01T00:00:00",
		"1:30":                "2026-12-01T01:30:00",
		"4:30pm":              "2026-12-01T16:30:00",
		"12:00AM":             "2026-12-01T00:00:00",
		"12:30PM":             "2026-12-01T12:30:00",
		"10:00 PM":            "2026-11-30T22:00:00",
		" 16:00 ":             "2026-12-01T16:00:00",
		"T10:00":              "2026-12-01T10:00:00",
		"midnight":            "2026-12-01T00:00:00",
		"Noon":                "2026-12-01T12:00:00",
		"elevenses":           "2026-12-01T11:00:00",
		"fika":                "2026-12-01T15:00:00",
		"teatime":             "2026-12-01T16:00:00",
		"today":               "2026-11-30T00:00:00",
		"tomorrow":            "2026-12-01T00:00:00",
		"today noon":          "2026-11-30T12:00:00",
		"todaynoon":           "2026-11-30T12:00:00",
		"noon tomorrow":       "2026-12-01T12:00:00",
		"tomorrow 10:00":      "2026-12-01T10:00:00",
		"tomorrowT10:00":      "2026-12-01T10:00:00",
		"10:00tomorrow":       "2026-12-01T10:00:00",
		"10:00 11:00":         "2026-12-01T11:00:00",
		"now":                 "2026-11-30T21:30:30",
		"now+60":              "2026-11-30T21:31:30",
		"now +1":              "2026-11-30T21:30:31",
		"now+1hour":           "2026-11-30T22:30:30",
		"NOW+1HOUR":           "2026-11-30T22:30:30",
		"now + 2 hours ":      "2026-11-30T23:30:30",
		"now+3minutes":        "2026-11-30T21:33:30",
		"now+1days":           "2026-12-01T21:30:30",
		"now+1week":           "2026-12-07T21:30:30",
		"now-1hour":           "2026-11-30T20:30:30",
		"010127":              "2027-01-01T00:00:00",
		"0101":                "2027-01-01T00:00:00",
		"0101.10":             "2010-01-01T00:00:00",
		"01/01/27":            "2027-01-01T00:00:00",
		"01.01.27":            "2027-01-01T00:00:00",
		"1/2/27":              "2027-01-02T00:00:00",
		"1.2":                 "2027-01-02T00:00:00",
		"12/25":               "2026-12-25T00:00:00",
		"11/29":               "2027-11-29T00:00:00",
		"11/30/26":            "2026-11-30T00:00:00",
		"02/29":               "2027-03-01T00:00:00",
		"1130":                "2027-11-30T00:00:00",
		"1130-21:00":          "2027-11-30T21:00:00",
		"1130-23:00":          "2026-11-30T23:00:00",
		"1231":                "2026-12-31T00:00:00",
		"010127-10:00":        "2027-01-01T10:00:00",
		"01/01-10:00":         "2027-01-01T10:00:00",
		"10:00 01/02/27":      "2027-01-02T10:00:00",
		"2027-01-20":          "2027-01-20T00:00:00",
		"2027-01-20T":         "2027-01-20T00:00:00",
		"2027-01-20T12:34":    "2027-01-20T12:34:00",
		"2027-01-20T12:34:05": "2027-01-20T12:34:05",
		"2027-01-20-12:34:05": "2027-01-20T12:34:05",
		"2027-01-20 12:34":    "2027-01-20T12:34:00",
		"2027-01-20 - 10:00":  "2027-01-20T10:00:00",
		"2027-01-20T10:00PM":  "2027-01-20T22:00:00",
		"2027-02-30":          "2027-03-02T00:00:00",
		"2010-01-20T12:34:00": "2010-01-20T12:34:00",
		"1970-01-01-00:00:01": "1970-01-01T00:00:01",
		"9999-01-01":          "9999-01-01T00:00:00",
	} {
		got, err := Parse(in, now)
		require.NoError(t, err, in)
		assert.Equal(t, want, Standard(got), in)
	}
}

func TestParsePast(t *testing.T) {
	for in, want := range map[string]string{
		"10:00":          "2026-11-30T10:00:00",
		"23:00":          "2026-11-30T23:00:00",
		"noon":           "2026-11-30T12:00:00",
		"tomorrow":       "2026-12-01T00:00:00",
		"1130":           "2026-11-30T00:00:00",
		"1130-23:00":     "2026-11-30T23:00:00",
		"1201":           "2025-12-01T00:00:00",
		"12/25":          "2025-12-25T00:00:00",
		"0101":           "2026-01-01T00:00:00",
		"113026":         "2026-11-30T00:00:00",
		"now-1hour":      "2026-11-30T20:30:30",
		"tomorrow 10:00": "2026-12-01T10:00:00",
	} {
		got, err := ParsePast(in, now)
		require.NoError(t, err, in)
		assert.Equal(t, want, Standard(got), in)
	}
}

func TestPlaceOfErrors(t *testing.T) {
	for in, pos := range map[string]int{
		"foo": 0, "": 0, "4PM": 1, "12AM": 2, "5": 1, "10": 2, "10:5": 4, "10:60": 3, "24:00": 0,
		"13PM": 0, "10:00:5": 7, "10:00:60": 6, "13:30PM": 5, "10:00p": 5, "noonx": 4,
		"TOMORROW": 1, "uptime": 0, "1797000000": 0, "130": 0, "002:00": 0,
		"2027-13-01": 5, "2027-00-01": 5, "2027-01-32": 8, "2027-1-2": 0, "27-01-02": 0,
		"2027/01/20": 0, "01-20-2027": 2, "01012027": 6, "01/01/2027": 8, "01/02/27x": 8,
		"13/01": 0, "00/01": 0, "01/32": 3, "0132": 2, "2027-01-20T12": 13,
		"2027-01-20T25:00": 11, "2027-01-20T12:34:60": 17,
		"now+": 3, "now+x": 3, "now+-1": 3, "now+3min": 4, "now+1h": 4, "now+1m": 4,
		"now+1months": 4, "now+10:00": 5, "now now": 4, "now 10:00": 4,
		"today+1hour": 5, "noon+1hour": 4, "16:00+1hour": 5,
	} {
		_, err := Parse(in, now)
		var se *SyntaxError
		require.ErrorAs(t, err, &se, in)
		assert.Equal(t, pos, se.Pos, in)
	}
	_, err := Parse("foo", now)
	assert.EqualError(t, err, "Invalid time specification (pos=0): foo")
}

func TestStamp(t *testing.T) {
	at := func(s string) time.Time {
		v, err := Parse(s, now)
		require.NoError(t, err)
		return v
	}
	for in, want := range map[string]string{
		"today": "00:00:00", "tomorrow": "Tomorr 00:00", "now-1day": "Ystday 21:30",
		"now-2days": "28 Nov 21:30", "now+2days": "Wed 21:30", "now+6days": "Sun 21:30",
		"now+7days": "7 Dec 21:30", "2026-06-06T10:00": "6 Jun 10:00",
		"2027-06-06T10:00": "6 Jun 2027", "2026-04-25T08:05": "25 Apr 08:05",
	} {
		assert.Equal(t, want, Stamp(at(in), "relative", now), in)
	}
	v := at("2027-09-26T21:32:12")
	assert.Equal(t, "2027-09-26T21:32:12", Stamp(v, "", now))
	assert.Equal(t, "2027-09-26T21:32:12", Stamp(v, "standard", now))
	assert.Equal(t, "1821994332", Stamp(v, "%s", now))
	assert.Equal(t, "Sun 21:32:12", Stamp(v, "%a %T", now))
	assert.Equal(t, "26 269 1821994332 27 % 2027", Stamp(v, "%e %j %s %y %% %Y", now))
	zone := time.FixedZone("X", 3600)
	assert.Equal(t, "2027-09-26T22:32:12", Stamp(v, "", now.In(zone)))
	assert.NoError(t, CheckFormat("%s"))
	assert.NoError(t, CheckFormat(""))
	assert.EqualError(t, CheckFormat("Standard"), "invalid SLURM_TIME_FORMAT = 'Standard'")
}

func TestClockChangeKeepsTheHour(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zone data")
	}
	before := time.Date(2026, 3, 28, 12, 0, 0, 0, zone) // clocks go forward on the 29th
	got, err := Parse("tomorrow 08:00", before)
	require.NoError(t, err)
	assert.Equal(t, "2026-03-29T08:00:00", Standard(got))
	assert.Equal(t, "Tomorr 08:00", Stamp(got, "relative", before))
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"now+1hour", "12/24-18:00", "2027-01-20T12:34:00", "4:30pm tomorrow", "0101.10", "T"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Parse(s, now)
		if err != nil {
			return
		}
		if y := v.Year(); y < 1000 || y > 9999 {
			return // four digits are all that the notation has
		}
		again, err := Parse(Standard(v), now)
		if err != nil || again.Unix() != v.Unix() {
			t.Fatalf("%q: %v reads back as %v (%v)", s, v, again, err)
		}
	})
}
