//go:build unix

package measure

import (
	"syscall"
	"time"
)

// cpu is the processor time that this process has used, in user and kernel mode.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
