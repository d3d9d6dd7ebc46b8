package redistest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asChild makes the test binary run a server and then wait to be killed.
const asChild = "REDISTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		child()
	}
	goleak.VerifyTestMain(m)
}

func child() {
	s, err := Run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Addr())
	select {}
}
