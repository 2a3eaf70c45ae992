package hostlist

// maxDigits keeps numbers within uint64 and sums of sizes without overflow.
const maxDigits = 18

type parser struct {
	in  string
	pos int
}

func (p *parser) fail(pos int, msg string) error { return &SyntaxError{p.in, pos, msg} }

func (p *parser) skipSeparators() {
	for p.pos < len(p.in) && isSeparator(p.in[p.pos]) {
		p.pos++
	}
}

// element reads up to the next separator outside of brackets.
func (p *parser) element() (expr, error) {
	e := expr{pos: p.pos}
	start := p.pos
	literal := func() {
		if p.pos > start {
			e.parts = append(e.parts, part{text: p.in[start:p.pos]})
		}
	}
	for p.pos < len(p.in) && !isSeparator(p.in[p.pos]) {
		switch p.in[p.pos] {
		case ']':
			return e, p.fail(p.pos, "']' without '['")
		case '[':
			literal()
			ranges, err := p.group()
			if err != nil {
				return e, err
			}
			e.parts = append(e.parts, part{ranges: ranges})
			start = p.pos
		default:
			p.pos++
		}
	}
	literal()
	return e, nil
}

// group reads "[1-3,05]"; the parser stands on '['.
func (p *parser) group() ([]numRange, error) {
	open := p.pos
	p.pos++
	var ranges []numRange
	for {
		r, err := p.numRange(open)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, r)
		if p.pos == len(p.in) {
			return nil, p.fail(open, "'[' without ']'")
		}
		c := p.in[p.pos]
		p.pos++
		if c == ']' {
			return ranges, nil
		}
		if c != ',' {
			return nil, p.fail(p.pos-1, "expected a digit, '-', ',' or ']' inside brackets")
		}
	}
}

func (p *parser) numRange(open int) (numRange, error) {
	start := p.pos
	lo, width, err := p.number(open)
	if err != nil {
		return numRange{}, err
	}
	r := numRange{lo: lo, hi: lo, width: width}
	if p.pos < len(p.in) && p.in[p.pos] == '-' {
		p.pos++
		if r.hi, _, err = p.number(open); err != nil {
			return numRange{}, err
		}
		if r.hi < r.lo {
			return numRange{}, p.fail(start, "range runs backwards")
		}
	}
	return r, nil
}

func (p *parser) number(open int) (v uint64, width int, err error) {
	start := p.pos
	for p.pos < len(p.in) && isDigit(p.in[p.pos]) {
		v = v*10 + uint64(p.in[p.pos]-'0')
		p.pos++
		if p.pos-start > maxDigits {
			return 0, 0, p.fail(start, "number too long")
		}
	}
	if p.pos == start {
		if p.pos == len(p.in) {
			return 0, 0, p.fail(open, "'[' without ']'")
		}
		return 0, 0, p.fail(p.pos, "expected a number inside brackets")
	}
	return v, p.pos - start, nil
}
