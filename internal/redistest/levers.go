package redistest

import (
	"errors"
	"os"
	"time"
)

var (
	errDown   = errors.New("redistest: the server is down")
	errClosed = errors.New("redistest: the server is closed")
)

// The levers return an error for programs; in a test started by Start an error
// of theirs also fails the test, so that it may be ignored there.

// Pause suspends the server (SIGSTOP): connections stay open and are even
// accepted, but nothing is answered. On Linux no command runs any more once it
// returns.
func (s *Server) Pause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return s.check(errDown)
	}
	if err := s.proc.stop(); err != nil {
		return s.check(err)
	}
	s.paused = true
	return nil
}

// Resume undoes Pause (SIGCONT). The server then handles what has piled up. On
// a server that is not paused it does nothing.
func (s *Server) Resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.check(s.resume())
}

func (s *Server) resume() error {
	if s.proc == nil || !s.paused {
		return nil
	}
	s.paused = false
	if err := s.proc.resume(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Kill ends the server without warning (SIGKILL) and returns once it is gone.
// On a server that is down it does nothing.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.check(s.end())
}

// Restart starts the server again on the same port, after a Kill if it is still
// up, and returns once it answers. With Persist it has its data back, otherwise
// it is empty.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.check(errClosed)
	}
	if err := s.end(); err != nil {
		return s.check(err)
	}
	// Whoever took the port in the meantime may well let go of it again.
	err := s.launch()
	for deadline := time.Now().Add(readyWithin); errors.Is(err, errPortTaken) && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		err = s.launch()
	}
	return s.check(err)
}

// end kills the server. It lets a paused one run first, so that nothing stays
// behind suspended should the kill fail.
func (s *Server) end() error {
	if s.proc == nil {
		return nil
	}
	if err := errors.Join(s.resume(), s.proc.kill()); err != nil {
		return err
	}
	s.proc = nil
	return nil
}

// running reports whether the server can be expected to answer.
func (s *Server) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc != nil && !s.paused
}
