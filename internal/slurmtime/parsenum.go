package slurmtime

import "time"

// numeric reads a piece that begins with a digit: HH:MM[:SS][AM|PM], YYYY-MM-DD,
// MM/DD[/YY], MM.DD[.YY] or MMDD[YY].
func (p *spec) numeric() error {
	switch rest := p.in[p.pos:]; {
	case shaped(rest, "d:") || shaped(rest, "dd:"):
		return p.clock()
	case shaped(rest, "dddd-dd-dd"):
		return p.isoDate()
	default:
		return p.monthDay()
	}
}

// shaped tells whether s begins as the pattern says, d standing for a digit.
func shaped(s, pattern string) bool {
	if len(s) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if pattern[i] == 'd' {
			if !isDigit(s[i]) {
				return false
			}
		} else if s[i] != pattern[i] {
			return false
		}
	}
	return true
}

// bounded reads one or two digits between lo and hi; the error stands where the
// number begins, or behind it when fewer than min digits were there.
func (p *spec) bounded(minDigits, lo, hi int) (int, error) {
	start := p.pos
	v, n := p.digits(2)
	if n < minDigits {
		return 0, p.fail(p.pos)
	}
	if int(v) < lo || int(v) > hi {
		return 0, p.fail(start)
	}
	return int(v), nil
}

func (p *spec) clock() error {
	h, err := p.bounded(1, 0, 23)
	if err != nil {
		return err
	}
	p.pos++ // the colon
	m, err := p.bounded(2, 0, 59)
	if err != nil {
		return err
	}
	s := 0
	if p.pos < len(p.in) && p.in[p.pos] == ':' {
		p.pos++
		if s, err = p.bounded(2, 0, 59); err != nil {
			return err
		}
	}
	end := p.pos
	p.blanks()
	switch {
	case p.word("am"):
		if h == 12 {
			h = 0
		} else if h > 12 {
			return p.fail(end)
		}
	case p.word("pm"):
		if h > 12 {
			return p.fail(end)
		} else if h < 12 {
			h += 12
		}
	}
	p.setClock(h, m, s)
	return nil
}

func (p *spec) isoDate() error {
	year, _ := p.digits(4)
	p.pos++
	month, err := p.bounded(2, 1, 12)
	if err != nil {
		return err
	}
	p.pos++
	day, err := p.bounded(2, 1, 31)
	if err != nil {
		return err
	}
	p.hasDate, p.hasYear = true, true
	p.year, p.month, p.day = int(year), time.Month(month), day
	return nil
}

func (p *spec) monthDay() error {
	month, err := p.bounded(1, 1, 12)
	if err != nil {
		return err
	}
	p.dateSeparator()
	day, err := p.bounded(1, 1, 31)
	if err != nil {
		return err
	}
	p.hasDate, p.hasYear = true, false
	p.month, p.day = time.Month(month), day
	mark := p.pos
	p.dateSeparator()
	if shaped(p.in[p.pos:], "dd") {
		year, _ := p.digits(2)
		p.hasYear, p.year = true, 2000+int(year)
		return nil
	}
	if p.pos != mark {
		return p.fail(p.pos)
	}
	return nil
}

func (p *spec) dateSeparator() {
	if p.pos < len(p.in) && (p.in[p.pos] == '/' || p.in[p.pos] == '.') {
		p.pos++
	}
}
