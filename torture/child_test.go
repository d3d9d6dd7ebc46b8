package torture

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// child is a worker process, as the test sees it.
type child struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string   // what it says, closed at its end
	done  chan struct{} // closed when it was waited for
}

func spawn(t *testing.T, r role) *child {
	t.Helper()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	c := &child{cmd: exec.Command(self), lines: make(chan string, 100), done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	c.cmd.Stderr = os.Stderr
	c.cmd.SysProcAttr = dieWithParent()
	c.in, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	started := make(chan error, 1)
	go func() {
		defer close(c.done)
		defer close(c.lines)
		// The thread that dieWithParent watches stays as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
		_ = c.cmd.Wait()
	}()
	require.NoError(t, <-started)
	t.Cleanup(c.kill)
	return c
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	for range c.lines {
	}
	<-c.done
}

func (c *child) stop()   { _ = c.cmd.Process.Signal(syscall.SIGSTOP) }
func (c *child) resume() { _ = c.cmd.Process.Signal(syscall.SIGCONT) }

// hear waits for the next line, which has to be want.
func (c *child) hear(want string, limit time.Time) error {
	timer := time.NewTimer(time.Until(limit))
	defer timer.Stop()
	select {
	case line, ok := <-c.lines:
		if !ok {
			return errEnded
		}
		if line != want {
			return saidError(line)
		}
		return nil
	case <-timer.C:
		_ = c.cmd.Process.Signal(syscall.SIGQUIT) // for the stacks
		for range c.lines {
		}
		return errSilent
	}
}

type saidError string

func (e saidError) Error() string { return "a worker says: " + string(e) }

const (
	errEnded  = saidError("nothing, it has ended")
	errSilent = saidError("nothing in time; its stacks are above")
)
