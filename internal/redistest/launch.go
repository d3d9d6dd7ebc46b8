package redistest

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	readyWithin = 10 * time.Second
	pollEvery   = 2 * time.Millisecond
	pingWithin  = 200 * time.Millisecond // a stranger on the port may never answer
)

// launchAnywhere starts the server on a port of its own choice.
func (s *Server) launchAnywhere() error {
	var err error
	for range 10 {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if s.cfg.certs != nil {
			if s.tlsPort, err = freePort(); err != nil {
				return err
			}
		}
		// Somebody may have taken the port since it was looked at.
		if err = s.launch(); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

// launch starts the server on s.port and returns once it answers.
func (s *Server) launch() error {
	p, err := startProcess(s.dir, s.cfg.commandLine(s.dir, s.port, s.tlsPort, s.socket))
	if err != nil {
		return err
	}
	if err := s.awaitReady(p); err != nil {
		return errors.Join(err, p.kill())
	}
	s.proc, s.paused = p, false
	return nil
}

func (s *Server) awaitReady(p *process) error {
	limit := time.NewTimer(readyWithin)
	defer limit.Stop()
	// A server sends no signal when it is ready, so there is nothing to wait for
	// but its answer.
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	var last error
	for {
		select {
		case <-p.done:
			return p.failure()
		case <-limit.C:
			return fmt.Errorf("redistest: redis-server is not ready after %s: %w", readyWithin, last)
		case <-poll.C:
			if p.ended() {
				return p.failure()
			}
			if last = s.ping(p.pid()); last == nil {
				return nil
			}
		}
	}
}

// ping asks whether the server with this pid answers on our port. A stranger
// that was faster to take the port answers as well, hence the pid.
func (s *Server) ping(pid int) error {
	c, err := s.dial(pingWithin)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.do(cmdPing); err != nil {
		return err // LOADING, among others
	}
	info, err := c.do(cmdInfo, "server")
	if err != nil {
		return err
	}
	if !strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", pid)) {
		return errPortTaken
	}
	return nil
}
