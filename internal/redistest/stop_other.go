//go:build !unix

package redistest

import "errors"

func (p *process) stop() error {
	return errors.New("redistest: this system cannot pause a process")
}

func (p *process) resume() error { return nil }
