package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/actorlock/actorlock/internal/redistest"
)

// asProgram makes the test binary behave as the program itself.
const asProgram = "REBUILD_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// essentials are the lines that the program exists for, in this order.
var essentials = []string{
	`runs, with fencing token \d+`,
	`is refused: \S+ has the lock`,
	`asks again, and waits`,
	`is done`,
	`enters, with fencing token \d+`,
	`passes through in`,
	`is told in the callback, by its ctx: lock "report:rebuild" lost: .*lease was taken`,
	`gets from WithLock: lock "report:rebuild" lost: .*lease was taken`,
	`shuts down`,
	`is told: lock "report:rebuild" lost: lock manager is shut down`,
	`entered \S+ after the shutdown began`,
}

func TestInMemory(t *testing.T) {
	var out bytes.Buffer
	start := time.Now()
	require.NoError(t, run(t.Context(), &out, ""))
	require.Less(t, time.Since(start), 10*time.Second, "the program is to end in a few seconds")

	// Who runs and who is refused print at the same moment, in any order.
	require.Regexp(t, essentials[0], out.String())
	require.Regexp(t, `(?s)`+strings.Join(essentials[1:], `.*`), out.String())
	require.Equal(t, 2, strings.Count(out.String(), "is refused"), "of three nodes two come second")
	oneAtATime(t, out.String())

	took := regexp.MustCompile(`entered (\S+) after`).FindStringSubmatch(out.String())
	d, err := time.ParseDuration(took[1])
	require.NoError(t, err)
	require.Less(t, d, time.Second, "a key that a shutdown frees is free at once")
}

// Copies on one server exclude each other. Their lines go to one log, in the
// order in which they are printed, so that no clocks have to be compared.
func TestCopiesOnRedis(t *testing.T) {
	server := redistest.Start(t)
	var log ledger
	var copies sync.WaitGroup
	for range 3 {
		copies.Go(func() {
			out := &copyOut{ledger: &log}
			if err := run(t.Context(), out, server.URL()); err != nil {
				t.Error(err)
			}
			for _, line := range essentials[3:] {
				if !regexp.MustCompile(line).MatchString(out.own.String()) {
					t.Errorf("no line %q in:\n%s", line, out.own.String())
				}
			}
		})
	}
	copies.Wait()
	require.Equal(t, 9, strings.Count(log.text.String(), "is done"))
	oneAtATime(t, log.text.String())
	require.Empty(t, server.Client(t).Exists(t.Context(), key).Val(), "nobody holds the lock any more")
}

// ledger is the common output of several copies.
type ledger struct {
	mu   sync.Mutex
	text strings.Builder
}

type copyOut struct {
	*ledger
	own strings.Builder
}

func (c *copyOut) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own.Write(p)
	return c.text.Write(p)
}

// oneAtATime checks that runs never overlap, and that tokens rise.
func oneAtATime(t *testing.T, out string) {
	t.Helper()
	inside, last := 0, ""
	for _, m := range regexp.MustCompile(`(runs|enters), with fencing token (\d+)|is done`).FindAllStringSubmatch(out, -1) {
		if m[1] == "" {
			inside--
			continue
		}
		inside++
		require.Equal(t, 1, inside, "two nodes run at once:\n%s", out)
		// Of the same length, as they follow the clock.
		require.Greater(t, m[2], last, "a token is not above the one before:\n%s", out)
		last = m[2]
	}
}

// The program says in one line what is wrong, and its exit code tells, too.
func TestExitCode(t *testing.T) {
	server := redistest.Start(t)
	gone := redistest.Start(t)
	require.NoError(t, gone.Close())
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"on Redis":     {[]string{"-redis", server.URL()}, 0, `^$`},
		"no server":    {[]string{"-redis", gone.URL()}, 1, `(?m)^rebuild: inspect lock "report:rebuild": .*refused$`},
		"bad URL":      {[]string{"-redis", "http://localhost"}, 1, `^rebuild: .*redis://.*\n$`},
		"bad argument": {[]string{"now"}, 2, `^rebuild: unexpected argument "now"\n`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], c.args...)
			cmd.Env = append(os.Environ(), asProgram+"=1")
			var complaint strings.Builder
			cmd.Stderr = &complaint
			_ = cmd.Run()
			require.Equal(t, c.code, cmd.ProcessState.ExitCode(), complaint.String())
			require.Regexp(t, c.says, complaint.String())
		})
	}
}
