package actorlock_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease/redisstore"
)

func readme(t *testing.T) string {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	return string(text)
}

// The README's Go code stands, line by line, in an Example or in the test that
// it shows, so that it is known to compile.
func TestReadmeCodeIsCompiled(t *testing.T) {
	examples, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	test, err := os.ReadFile("readme_lost_test.go")
	require.NoError(t, err)
	compiled := flat(string(examples) + string(test))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		require.Contains(t, compiled, flat(block[1]), "in no Example:\n%s", block[1])
	}
}

// flat drops indentation and empty lines, in which a README may differ.
func flat(code string) string {
	lines := []string{""}
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(append(lines, ""), "\n")
}

// A user with the rights that the README lists, and no others, can wait, be
// woken, hand over, extend and look; nothing is refused on the way.
func TestReadmeRightsSuffice(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Client(t)
	var rule []any
	for word := range strings.FieldsSeq(regexp.MustCompile(`(?m)^ACL SETUSER locks .*$`).FindString(readme(t))) {
		rule = append(rule, word)
	}
	require.NotEmpty(t, rule)
	require.NoError(t, admin.Do(t.Context(), rule...).Err())

	const key = "report:rebuild"
	var nodes [2]*actorlock.Manager
	for i := range nodes {
		store, err := redisstore.Open("redis://locks:secret@" + server.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { _ = store.Close() })
		nodes[i], err = actorlock.New(actorlock.Config{Store: store})
		require.NoError(t, err)
		t.Cleanup(func() { _ = nodes[i].Shutdown(context.Background()) })
	}
	var callers sync.WaitGroup
	for i := range 6 {
		callers.Go(func() {
			for range 30 {
				if err := nodes[i%2].WithLock(t.Context(), key, func(context.Context) error { return nil }, actorlock.Wait(20*time.Second), actorlock.RetryAttempts(actorlock.RetryForever)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	lock, err := nodes[0].Acquire(t.Context(), key, actorlock.TTL(900*time.Millisecond))
	require.NoError(t, err)
	// Extended by then, or its key would be gone.
	require.Never(t, func() bool { return lock.Context().Err() != nil }, 1200*time.Millisecond, 50*time.Millisecond)
	seen, err := nodes[1].Inspect(t.Context(), key)
	require.NoError(t, err)
	require.True(t, seen.Held)
	require.NoError(t, lock.Release(t.Context()))
	log, err := admin.ACLLog(t.Context(), 10).Result()
	require.NoError(t, err)
	require.Empty(t, log, "refused by the server")
}
