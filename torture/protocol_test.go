package torture

import (
	"encoding/gob"
	"net"
)

// What a caller in a worker tells the register, over a connection of its own.
type report struct {
	Op    op
	Hold  uint64 // unique: worker, caller, section
	At    int64  // clock; but for left, the lock was live then; 0: of a write after a loss
	Key   string // the rest: of read alone
	Token uint64
	TTL   int64
	Asked int64  // clock, before the lock was asked for
	Value uint64 // of write alone
	Lost  bool   // of left alone
}

type op int

const (
	read  op = iota // the section begins; answered
	alive           // the lock is still live; not answered
	write           // the section ends; answered
	left            // the call has returned; not answered
)

// answer is the register's: whether the token was good enough, and the value.
type answer struct {
	OK    bool
	Value uint64
}

// line is a caller's connection to the register.
type line struct {
	conn net.Conn
	out  *gob.Encoder
	in   *gob.Decoder
}

func dialRegister(addr string) (*line, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &line{conn: conn, out: gob.NewEncoder(conn), in: gob.NewDecoder(conn)}, nil
}

// tell ends the process when the register is gone: so is the test then.
func (l *line) tell(r report) {
	if err := l.out.Encode(r); err != nil {
		fail("register: %v", err)
	}
}

func (l *line) ask(r report) answer {
	l.tell(r)
	var a answer
	if err := l.in.Decode(&a); err != nil {
		fail("register: %v", err)
	}
	return a
}
