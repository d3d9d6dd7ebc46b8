package actors_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// roleVariable makes the test binary a process of its own that plays a role.
const roleVariable = "ACTORLOCK_TEST_ROLE"

// node is what a role works with.
type node struct {
	*actorlock.Manager
	look *redis.Client // beside the manager's own connections
	told chan struct{} // closed when the test says so
}

// say tells the test something, in one line.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

var roles = map[string]func(n *node, args []string) error{
	"hold":  playHolder,
	"churn": playChurn,
	"crowd": playCrowd,
	"race":  playRace,
}

// playRole runs instead of the tests in a process that was started by spawn.
func playRole() {
	role, args, ok := strings.Cut(os.Getenv(roleVariable), " ")
	if !ok {
		return
	}
	addr, rest, _ := strings.Cut(args, " ")
	n := &node{look: redis.NewClient(&redis.Options{Addr: addr}), told: make(chan struct{})}
	go func() {
		in := bufio.NewReader(os.Stdin)
		_, _ = in.ReadString('\n')
		close(n.told)
		_, _ = io.Copy(io.Discard, in)
		os.Exit(3) // the test is gone
	}()
	store, err := redisstore.Open("redis://" + addr)
	if err == nil {
		n.Manager, err = actorlock.New(actorlock.Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
	}
	if err == nil {
		err = roles[role](n, strings.Fields(rest))
	}
	if err != nil {
		say("failed: %v", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// playHolder holds args[0] with the TTL args[1] until it is lost or the test
// says go, and looks at its context all the time.
func playHolder(n *node, args []string) error {
	ttl, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	err = n.WithLock(context.Background(), args[0], func(ctx context.Context) error {
		l, _ := actorlock.LeaseFrom(ctx)
		say("held %d", l.Token)
		last := time.Now()
		for tick := time.NewTicker(time.Millisecond); ; <-tick.C {
			now := time.Now() // before the look: it may be stopped in between
			switch err := ctx.Err(); {
			case err != nil:
				say("ended %v", context.Cause(ctx))
				<-ctx.Done()
				say("done")
				return nil
			case now.Sub(last) > ttl:
				say("blind") // it was stopped, and saw no loss at the first look
			}
			last = now
			select {
			case <-n.told:
				return nil
			default:
			}
		}
	}, actorlock.TTL(ttl), actorlock.RetryAttempts(actorlock.RetryForever), actorlock.AwaitCallback())
	say("returned %v", err)
	return n.Shutdown(context.Background()) // waits for what it still sends
}

// child is a process that plays a role.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	heard []string
}

// spawn starts a process that plays role with the server at addr.
func spawn(t *testing.T, role, addr string, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := &child{t: t, cmd: exec.Command(self), lines: make(chan string, 10_000)}
	c.cmd.Env = append(os.Environ(), roleVariable+"="+strings.Join(append([]string{role, addr}, args...), " "))
	c.cmd.Stderr = os.Stderr
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	t.Cleanup(c.kill)
	return c
}

// kill ends the process without warning.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	for range c.lines {
	}
	_ = c.cmd.Wait()
}

// hear waits for a line that begins with word and returns the rest of it.
func (c *child) hear(word string) string {
	c.t.Helper()
	limit := time.After(plenty)
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				require.FailNow(c.t, "the process has ended", "it said %q, not %q", c.heard, word)
			}
			c.heard = append(c.heard, line)
			if rest, ok := strings.CutPrefix(line, word); ok {
				return strings.TrimSpace(rest)
			}
		case <-limit:
			require.FailNow(c.t, "the process says nothing", "it said %q, not %q", c.heard, word)
		}
	}
}

// proceed says go.
func (c *child) proceed() {
	c.t.Helper()
	_, err := io.WriteString(c.in, "go\n")
	require.NoError(c.t, err)
}

// exits expects the process to end by itself, without an error.
func (c *child) exits() {
	c.t.Helper()
	for line := range c.lines {
		c.heard = append(c.heard, line)
	}
	require.NoError(c.t, c.cmd.Wait(), "it said %q", c.heard)
}
