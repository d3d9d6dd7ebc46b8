package redisstore

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// fake is a server that answers as it is told to, and counts what it is sent.
type fake struct {
	listener net.Listener
	running  sync.WaitGroup
	answer   func(args []string) string // the bytes of the reply; "" hangs up
	hangsUp  bool                       // after each reply but those of a handshake

	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	accepted int
	commands map[string]int
	closed   bool
}

func startFake(t testing.TB, answer func(args []string) string) *fake {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fake{listener: l, answer: answer, conns: map[net.Conn]struct{}{}, commands: map[string]int{}}
	f.running.Go(f.accept)
	t.Cleanup(f.close)
	return f
}

// close may be called more than once.
func (f *fake) close() {
	_ = f.listener.Close()
	f.mu.Lock()
	f.closed = true
	for c := range f.conns {
		_ = c.Close()
	}
	f.mu.Unlock()
	f.running.Wait()
}

func (f *fake) addr() string { return f.listener.Addr().String() }

func (f *fake) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.accepted++
		if f.closed {
			_ = conn.Close()
		} else {
			f.conns[conn] = struct{}{}
			f.running.Go(func() { f.serve(conn) })
		}
		f.mu.Unlock()
	}
}

func (f *fake) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		f.mu.Lock()
		delete(f.conns, conn)
		f.mu.Unlock()
	}()
	in := bufio.NewReader(conn)
	for {
		args, err := readCommand(in)
		if err != nil {
			return
		}
		f.mu.Lock()
		f.commands[args[0]]++
		if len(args) > 1 {
			f.commands[args[0]+" "+args[1]]++
		}
		f.mu.Unlock()
		reply := f.answer(args)
		if _, err := io.WriteString(conn, reply); err != nil || reply == "" {
			return
		}
		if f.hangsUp && args[0] != "hello" && args[0] != "client" {
			return
		}
	}
}

// seen is how often a command came, with its first argument or without, and how many connections there were.
func (f *fake) seen(command string) (times, connections int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.commands[command], f.accepted
}

// readCommand reads an array of strings; the first one in lower case.
func readCommand(in *bufio.Reader) (args []string, err error) {
	number := func(kind byte) (int, error) {
		line, err := in.ReadString('\n')
		if err != nil || line[0] != kind {
			return 0, fmt.Errorf("bad command: %q %w", line, err)
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number('*')
	for range n {
		size, err := number('$')
		if err != nil {
			return nil, err
		}
		buf := make([]byte, size+2)
		if _, err := io.ReadFull(in, buf); err != nil {
			return nil, err
		}
		args = append(args, string(buf[:size]))
	}
	if err == nil && len(args) == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	args[0] = strings.ToLower(args[0])
	return args, nil
}

// scripted answers the handshake like a server that knows no RESP3, and
// everything else with reply.
func scripted(reply string) func([]string) string {
	return func(args []string) string {
		switch args[0] {
		case "hello":
			return "-ERR unknown command 'HELLO'\r\n"
		case "client", "auth", "select":
			return "+OK\r\n"
		}
		return reply
	}
}
