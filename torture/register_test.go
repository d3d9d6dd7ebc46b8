package torture

import (
	"encoding/gob"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// section is what is known of one critical section.
type section struct {
	hold             uint64
	key              string
	token            uint64
	ttl              int64
	asked            int64 // before the lock was asked for
	enter, last      int64 // proofs of life: the first and the last
	exit             int64 // when the call had returned; 0 when it never did
	readAt, wroteAt  int64 // at the register; 0: not done
	readOK, writeOK  bool  // the token was accepted
	readVal, written uint64
	lost             bool
	order            uint64 // of the accepted write, among all
}

// register keeps a counter per key, fenced by tokens, and the history.
type register struct {
	listener net.Listener
	running  sync.WaitGroup
	unfenced bool // broken on purpose

	mu       sync.Mutex
	cells    map[string]*cell
	sections map[uint64]*section
	order    uint64
	conns    map[net.Conn]struct{}
	closed   bool
}

type cell struct{ token, value uint64 }

func newRegister(t *testing.T) *register {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &register{
		listener: l, cells: map[string]*cell{}, sections: map[uint64]*section{}, conns: map[net.Conn]struct{}{},
	}
	r.running.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

func (r *register) addr() string { return r.listener.Addr().String() }

func (r *register) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		if r.closed {
			_ = conn.Close()
		} else {
			r.conns[conn] = struct{}{}
			r.running.Go(func() { r.serve(conn) })
		}
		r.mu.Unlock()
	}
}

func (r *register) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		r.mu.Lock()
		delete(r.conns, conn)
		r.mu.Unlock()
	}()
	in, out := gob.NewDecoder(conn), gob.NewEncoder(conn)
	for {
		var rep report
		if in.Decode(&rep) != nil {
			return // the worker has ended
		}
		a := r.take(rep)
		if rep.Op != read && rep.Op != write {
			continue
		}
		if out.Encode(a) != nil {
			return
		}
	}
}

// take executes a report, and writes it down.
func (r *register) take(rep report) answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sections[rep.Hold]
	if s == nil {
		if rep.Op != read {
			return answer{} // a call whose callback did not begin
		}
		s = &section{
			hold: rep.Hold, key: rep.Key, token: rep.Token, ttl: rep.TTL, asked: rep.Asked, enter: rep.At,
		}
		r.sections[rep.Hold] = s
	}
	if rep.Op == left {
		s.exit, s.lost = rep.At, rep.Lost
		return answer{}
	}
	s.last = max(s.last, rep.At)
	if rep.Op == alive {
		return answer{}
	}
	c := r.cells[s.key]
	if c == nil {
		c = &cell{}
		r.cells[s.key] = c
	}
	// Reads are fenced, too: what a later holder has read must not change
	// behind its back.
	ok := s.token >= c.token || r.unfenced
	if ok {
		c.token = max(c.token, s.token)
	}
	if rep.Op == read {
		s.readAt, s.readOK, s.readVal = clock(), ok, c.value
		return answer{ok, c.value}
	}
	s.wroteAt, s.writeOK, s.written = clock(), ok, rep.Value
	if ok {
		r.order++
		c.value, s.order = rep.Value, r.order
	}
	return answer{ok, c.value}
}

// history returns what happened, once the workers have ended.
func (r *register) history() []*section {
	r.close()
	return r.soFar()
}

// soFar returns what has happened until now.
func (r *register) soFar() []*section {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*section, 0, len(r.sections))
	for _, s := range r.sections {
		c := *s
		all = append(all, &c)
	}
	return all
}

// close ends it; what has arrived is still read, as the workers are gone.
func (r *register) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.running.Wait()
}
