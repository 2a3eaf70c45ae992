package nodes

import (
	"fmt"
	"strings"

	"muster/internal/command/format"
)

// Formats of the options that bring their own.
const (
	PlainFormat      = "%#P %.5a %.10l %.6D %.6t %N"
	SummaryFormat    = "%#P %.5a %.10l %.16F %N"
	LongFormat       = "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %.11i %N"
	NodeFormat       = "%#N %.6D %.#P %6t"
	NodeLongFormat   = "%#N %.6D %.#P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
	ReasonFormat     = "%20E %9u %19H %N"
	ReasonLongFormat = "%20E %12U %19H %6t %N"
)

// match says what keeps nodes apart in rows.
type match uint8

const (
	never     match = iota // counted or listed
	always                 // what differs stands in different rows
	whenExact              // only with --exact; else the least is shown with a plus
)

type field struct {
	letter byte
	name   string // of -O, in lower case
	header string
	cell   func([]byte, *Row) []byte
	match  match
}

var fields = [...]field{
	{'a', "available", "AVAIL", cellAvail, always},
	{'A', "nodeai", "NODES(A/I)", cellNodesAI, never},
	{'b', "features_act", "ACTIVE_FEATURES", cellActive, always},
	{'B', "maxcpuspernode", "MAX_CPUS_PER_NODE", cellMaxCPUs, always},
	{'c', "cpus", "CPUS", cellCPUs, whenExact},
	{'C', "cpusstate", "CPUS(A/I/O/T)", cellCPUsAIOT, never},
	{'d', "disk", "TMP_DISK", cellDisk, whenExact},
	{'D', "nodes", "NODES", cellCount, never},
	{'e', "freemem", "FREE_MEM", cellFreeMem, never},
	{'E', "reason", "REASON", cellReason, always},
	{'f', "features", "AVAIL_FEATURES", cellFeatures, always},
	{'F', "nodeaiot", "NODES(A/I/O/T)", cellNodesAIOT, never},
	{'g', "groups", "GROUPS", cellGroups, always},
	{'G', "gres", "GRES", cellGres, always},
	{'h', "oversubscribe", "OVERSUBSCRIBE", cellOverSubscribe, always},
	{'H', "timestamp", "TIMESTAMP", cellReasonTime, always},
	{'i', "", "RESERVATION", cellNone, always},
	{'I', "priorityjobfactor", "PRIO_JOB_FACTOR", cellJobFactor, always},
	{'l', "time", "TIMELIMIT", cellTimeLimit, always},
	{'L', "defaulttime", "DEFAULTTIME", cellDefaultTime, always},
	{'m', "memory", "MEMORY", cellMemory, whenExact},
	{'M', "preemptmode", "PREEMPT_MODE", cellPreemptMode, always},
	{'n', "nodehost", "HOSTNAMES", cellHosts, always},
	{'N', "nodelist", "NODELIST", cellNodeList, never},
	{'o', "nodeaddr", "NODE_ADDR", cellAddrs, always},
	{'O', "cpusload", "CPU_LOAD", cellLoad, never},
	{'p', "prioritytier", "PRIO_TIER", cellTier, always},
	{'P', "partition", "PARTITION", cellPartition, always},
	{'r', "root", "ROOT", cellRoot, always},
	{'R', "partitionname", "PARTITION", cellPartitionName, always},
	{'s', "size", "JOB_SIZE", cellJobSize, always},
	{'S', "allocnodes", "ALLOCNODES", cellAllocNodes, always},
	{'t', "statecompact", "STATE", cellState, always},
	{'T', "statelong", "STATE", cellStateLong, always},
	{'u', "user", "USER", cellUser, always},
	{'U', "userlong", "USER", cellUserLong, always},
	{'v', "version", "VERSION", cellVersion, always},
	{'V', "cluster", "CLUSTER", cellCluster, never},
	{'w', "weight", "WEIGHT", cellWeight, whenExact},
	{'X', "sockets", "SOCKETS", cellSockets, whenExact},
	{'Y', "cores", "CORES", cellCores, whenExact},
	{'z', "socketcorethread", "S:C:T", cellSCT, whenExact},
	{'Z', "threads", "THREADS", cellThreads, whenExact},
	{0, "allocmem", "ALLOCMEM", cellAllocMem, never},
	{0, "comment", "COMMENT", cellComment, always},
	{0, "extra", "EXTRA", cellExtra, always},
	{0, "gresused", "GRES_USED", cellGresUsed, always},
	{0, "port", "PORT", cellPort, always},
	{0, "statecomplete", "STATECOMPLETE", cellStateFull, always},
}

// allFormat is what %all stands for; Slurm puts a blank before the bar after
// most of its columns.
const allFormat = "%a|%b|%c|%d|%e|%f|%g|%h|%l|%m|%n|%o|%p|%r|%s|%t|%u|%v|%w|%z|%A |%B |%C |%D |%E |%F |%G |%H |%I |%L |%M |" +
	"%N |%O |%P |%R |%S |%T |%U |%V |%X |%Y |%Z "

// Table is a format that was read.
type Table struct {
	format.Table[Row]
	auto       []bool // columns as wide as they need to be
	keys       []*field
	Complaints []string
	listed     bool // the format was one of names
}

func byLetter(c byte) *field {
	for i := range fields {
		if fields[i].letter == c && c != 0 {
			return &fields[i]
		}
	}
	return nil
}

func byName(name string) *field {
	for i := range fields {
		if fields[i].name != "" && strings.EqualFold(fields[i].name, name) {
			return &fields[i]
		}
	}
	return nil
}

// ParseTable reads a format of -o.
func ParseTable(text string, exact bool) *Table {
	t := &Table{}
	if text == format.All {
		text = allFormat
	}
	prefix, list := format.ParseLetters(text)
	t.Prefix = prefix
	for _, f := range list {
		known := byLetter(f.Letter)
		if known == nil {
			bad := ""
			if f.Letter != 0 {
				bad = string(rune(f.Letter))
			}
			t.Complaints = append(t.Complaints, "Invalid node format specification: "+bad)
			t.append(format.Column[Row]{Header: "%" + f.Raw, Cell: format.Text[Row]("%" + f.Raw)}, false)
			continue
		}
		t.add(known, f, exact)
	}
	return t
}

// ParseNames reads a format of -O.
func ParseNames(list string, exact bool) *Table {
	if strings.EqualFold(strings.TrimRight(list, ":"), "all") {
		return ParseTable(format.All, exact)
	}
	t := &Table{listed: true}
	for _, f := range format.ParseNames(list) {
		known := byName(f.Name)
		if known == nil {
			t.Complaints = append(t.Complaints, fmt.Sprintf("Invalid job format specification: %s", f.Name))
			continue
		}
		t.add(known, f, exact)
	}
	return t
}

func (t *Table) add(known *field, f format.Field, exact bool) {
	cell := known.cell
	if known.letter == 'P' && f.Width > 0 {
		cell = narrowPartition(f.Width)
	}
	t.append(format.Column[Row]{
		Header: known.header, Cell: cell, Width: f.Width, Right: f.Right, Suffix: f.Suffix,
	}, f.Auto)
	if known.match == always || known.match == whenExact && exact {
		t.keys = append(t.keys, known)
	}
}

func (t *Table) append(c format.Column[Row], auto bool) {
	t.Columns = append(t.Columns, c)
	t.auto = append(t.auto, auto)
}

// leastAuto is the least width of a column that is as wide as it needs to be.
const leastAuto = 9

// widen gives the columns that may grow the width of their widest value.
func (t *Table) widen(rows []*Row) {
	var b []byte
	for i := range t.Columns {
		if !t.auto[i] {
			continue
		}
		width := max(leastAuto, len(t.Columns[i].Header))
		for _, r := range rows {
			b = t.Columns[i].Cell(b[:0], r)
			width = max(width, len(b))
		}
		t.Columns[i].Width = width
	}
}
