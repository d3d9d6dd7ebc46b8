//go:build unix

package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// stop suspends the process. Where /proc tells (Linux), it returns only when
// the process has really come to a halt: the signal alone takes effect a little
// later, and a command could slip through in between.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for deadline := time.Now().Add(readyWithin); time.Now().Before(deadline); time.Sleep(pollEvery) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid()))
		if err != nil {
			return nil
		}
		// "pid (name) state ...", and the name may hold anything.
		_, state, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if !found || len(state) == 0 || state[0] == 'T' {
			return nil
		}
	}
	return errors.New("redistest: redis-server does not stop")
}

// resume lets a suspended process run again.
func (p *process) resume() error {
	return p.cmd.Process.Signal(syscall.SIGCONT)
}
