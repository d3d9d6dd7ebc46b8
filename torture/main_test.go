package torture

import (
	"flag"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

var (
	length = flag.Duration("for", 40*time.Second, "how long to torture")
	rounds = flag.Int("rounds", 0, "how many rounds; 0: as many as -for has room for")
	seed   = flag.Uint64("seed", 1, "of the first round; the next one has the next seed")
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(playWorker(role))
	}
	goleak.VerifyTestMain(m)
}

// clock is the time that all processes of a machine agree on, in nanoseconds.
func clock() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}
