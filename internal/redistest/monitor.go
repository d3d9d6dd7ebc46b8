package redistest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Monitor records what a server executes, as told by its MONITOR command, from
// the moment it was made until Stop, the end of the test or the end of the
// server, whichever comes first.
type Monitor struct {
	t    testing.TB
	s    *Server
	conn *conn
	done chan struct{} // closed once no more line comes in

	mu    sync.Mutex
	lines []string
	marks map[string]chan struct{}
}

// Monitor starts to record the commands that the server executes.
func (s *Server) Monitor(t testing.TB) *Monitor {
	t.Helper()
	c, err := s.dial(connTimeout)
	if err == nil {
		_, err = c.do(cmdMonitor)
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		if c != nil {
			_ = c.Close()
		}
		t.Fatalf("redistest: MONITOR: %v", err)
	}
	m := &Monitor{
		t: t, s: s, conn: c,
		done:  make(chan struct{}),
		marks: make(map[string]chan struct{}),
	}
	go m.read()
	t.Cleanup(m.hangUp)
	return m
}

// Lines returns what was recorded so far, as the server words it:
//
//	1700000000.123456 [0 127.0.0.1:50000] "set" "key" "value"
//
// What a script calls has "lua" in place of the address. Every command that was
// answered before the call is included, unless the server is paused: then it is
// what has come through. Redis leaves out administrative commands (CONFIG among
// them) and redacts secrets, and the traffic of this package itself is left out,
// but not that of its Client.
func (m *Monitor) Lines() []string {
	m.t.Helper()
	if err := m.catchUp(); err != nil {
		m.t.Errorf("redistest: the monitor may lack lines: %v", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lines)
}

// ClientLines is Lines without what scripts called.
func (m *Monitor) ClientLines() []string {
	m.t.Helper()
	return slices.DeleteFunc(m.Lines(), fromScript)
}

// Stop ends the recording. Lines keeps what was recorded.
func (m *Monitor) Stop() {
	m.t.Helper()
	if err := m.catchUp(); err != nil {
		m.t.Errorf("redistest: the monitor may lack lines: %v", err)
	}
	m.hangUp()
}

func (m *Monitor) hangUp() {
	_ = m.conn.Close()
	<-m.done
}

func (m *Monitor) read() {
	defer close(m.done)
	for {
		line, err := m.conn.line()
		if err != nil {
			return
		}
		m.record(strings.TrimPrefix(line, "+"))
	}
}

var marksMade atomic.Int64

func (m *Monitor) record(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, command, _ := strings.Cut(line, "] ")
	name, args, _ := strings.Cut(command, " ")
	switch strings.Trim(name, `"`) {
	case cmdEcho:
		mark := strings.Trim(args, `"`)
		if seen := m.marks[mark]; seen != nil { // else it is another monitor's
			close(seen)
			delete(m.marks, mark)
		}
	case cmdAuth, cmdConfig, cmdInfo, cmdMonitor, cmdPing:
	default:
		m.lines = append(m.lines, line)
	}
}

// catchUp waits until the recording has come as far as the server is now.
// Monitors are fed in order but on their own connection, so the reply to a
// command may well overtake its line; a marker command shows when it is through.
func (m *Monitor) catchUp() error {
	if m.ended() || !m.s.running() {
		return nil
	}
	mark, seen := fmt.Sprint(marksMade.Add(1)), make(chan struct{})
	m.mu.Lock()
	m.marks[mark] = seen
	m.mu.Unlock()
	if _, err := m.s.ask(cmdEcho, mark); err != nil {
		return err
	}
	limit := time.NewTimer(connTimeout)
	defer limit.Stop()
	select {
	case <-seen:
		return nil
	case <-m.done:
		return nil
	case <-limit.C:
		return errors.New("a marker did not come through")
	}
}

func (m *Monitor) ended() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// fromScript tells by the bracket in front of the command.
func fromScript(line string) bool {
	origin, _, _ := strings.Cut(line, "]")
	return strings.HasSuffix(origin, " lua")
}
