package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

var errNotInstalled = errors.New("redis-server is not on PATH, install it first " +
	"(Debian/Ubuntu: apt-get install redis-server; macOS: brew install redis)")

// process is one life of a redis-server.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed once the process has ended and was waited for
}

func startProcess(dir string, args []string) (*process, error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errNotInstalled
	}
	p := &process{
		cmd:  exec.Command(binary, args...),
		log:  filepath.Join(dir, "redis-server.log"),
		done: make(chan struct{}),
	}
	// A file, not a buffer: os/exec would copy into a buffer with a goroutine,
	// and Wait would then last as long as any child holds the pipe.
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.SysProcAttr = dieWithParent()

	started := make(chan error, 1)
	go func() {
		defer close(p.done)
		defer out.Close()
		// The kernel's parent-death signal is bound to the thread that forked,
		// so that thread has to stay until the server has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // a killed server always "fails"
		}
	}()
	if err := <-started; err != nil {
		<-p.done
		return nil, err
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process and returns once it is gone.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// failure explains an early end by the end of the log.
func (p *process) failure() error {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Errorf("redistest: redis-server has ended and its log is lost: %w", err)
	}
	if bytes.Contains(text, []byte("Address already in use")) {
		return errPortTaken
	}
	const most = 2000
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return fmt.Errorf("redistest: redis-server has ended: %s", bytes.TrimSpace(text))
}
