package store

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgtype"
	"google.golang.org/protobuf/proto"
)

// column is a PostgreSQL array in the binary format, one element a row. Rows go
// to the server as a few of these: encoding by hand costs a tenth of what the
// driver's general way does.
type column struct {
	buf   []byte
	n     int
	nulls bool
}

const columnHeader = 20 // dimensions, has-nulls, element type, length, lower bound

func (c *column) start(n int) {
	c.n += n
	if c.buf == nil {
		c.buf = make([]byte, columnHeader, 512)
	}
}

func (c *column) int8(v int64) {
	c.start(1)
	c.buf = binary.BigEndian.AppendUint32(c.buf, 8)
	c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(v))
}

func (c *column) int4(v int32) {
	c.start(1)
	c.buf = binary.BigEndian.AppendUint32(c.buf, 4)
	c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(v))
}

func (c *column) int2(v int16) {
	c.start(1)
	c.buf = binary.BigEndian.AppendUint32(c.buf, 2)
	c.buf = binary.BigEndian.AppendUint16(c.buf, uint16(v))
}

func (c *column) text(v string) {
	c.start(1)
	c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(len(v)))
	c.buf = append(c.buf, v...)
}

func (c *column) bytes(v []byte) {
	c.start(1)
	c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(len(v)))
	c.buf = append(c.buf, v...)
}

func (c *column) null() {
	c.start(1)
	c.nulls = true
	c.buf = binary.BigEndian.AppendUint32(c.buf, 0xffffffff)
}

// message appends a marshalled message.
func (c *column) message(m proto.Message) error {
	c.start(1)
	at := len(c.buf)
	c.buf = append(c.buf, 0, 0, 0, 0)
	buf, err := proto.MarshalOptions{}.MarshalAppend(c.buf, m)
	if err != nil {
		return err
	}
	c.buf = buf
	binary.BigEndian.PutUint32(c.buf[at:], uint32(len(c.buf)-at-4))
	return nil
}

// array finishes the column as an array of the element type.
func (c *column) array(oid uint32) []byte {
	c.start(0)
	binary.BigEndian.PutUint32(c.buf[0:], 1)
	if c.nulls {
		binary.BigEndian.PutUint32(c.buf[4:], 1)
	}
	binary.BigEndian.PutUint32(c.buf[8:], oid)
	binary.BigEndian.PutUint32(c.buf[12:], uint32(c.n))
	binary.BigEndian.PutUint32(c.buf[16:], 1)
	return c.buf
}

// Element types.
const (
	int8s  = uint32(pgtype.Int8OID)
	int4s  = uint32(pgtype.Int4OID)
	int2s  = uint32(pgtype.Int2OID)
	byteas = uint32(pgtype.ByteaOID)
)

// statement is one of a commit's, with its parameters in the binary format.
type statement struct {
	name   string
	params [][]byte
}

// table collects the columns of a statement.
type table struct {
	name    string
	columns []column
	types   []uint32
	rows    int
}

func newTable(name string, types ...uint32) table {
	return table{name: name, columns: make([]column, len(types)), types: types}
}

func (t *table) statement() statement {
	s := statement{name: t.name, params: make([][]byte, len(t.columns))}
	for i := range t.columns {
		s.params[i] = t.columns[i].array(t.types[i])
	}
	return s
}

func int8Param(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }
