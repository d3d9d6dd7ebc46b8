package torture

import "syscall"

// dieWithParent has the kernel kill a worker, a stopped one included, when the
// thread that started it goes away.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
