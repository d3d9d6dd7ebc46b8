package redistest

import "syscall"

// dieWithParent makes the kernel kill the server when the thread that started
// it goes away, so that a crashed or killed test run leaves nothing behind.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
