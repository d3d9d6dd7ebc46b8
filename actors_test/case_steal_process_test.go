package actors_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
)

const racers = 500

// playRace has many goroutines take the key args[0] at the moment that the test
// says. Each counts itself with two commands that only exclusion makes one step.
func playRace(n *node, args []string) error {
	ctx := context.Background()
	say("ready")
	var all sync.WaitGroup
	var mu sync.Mutex
	values := map[string]bool{}
	for range racers {
		all.Go(func() {
			<-n.told
			err := n.WithLock(ctx, args[0], func(ctx context.Context) error {
				l, _ := actorlock.LeaseFrom(ctx)
				var count, value *redis.StringCmd
				_, err := n.look.Pipelined(ctx, func(p redis.Pipeliner) error {
					count, value = p.Get(ctx, "count"), p.Get(ctx, args[0])
					return nil
				})
				if err != nil {
					return err
				}
				mu.Lock()
				values[value.Val()] = true
				mu.Unlock()
				seen, err := count.Int()
				if err != nil {
					return err
				}
				_, err = n.look.Pipelined(ctx, func(p redis.Pipeliner) error {
					p.Set(ctx, "count", seen+1, 0)
					p.RPush(ctx, "tokens", l.Token)
					return nil
				})
				return err
			}, actorlock.RetryAttempts(actorlock.RetryForever))
			if err != nil {
				say("failed: %v", err)
			}
		})
	}
	all.Wait()
	for v := range values {
		say("value %s", v)
	}
	return nil
}

// Many goroutines of several processes want one key at the same instant.
func TestCase_B038(t *testing.T) {
	const processes = 4
	srv := redisServer(t)
	look := srv.Client(t)
	require.NoError(t, look.Set(t.Context(), "count", 0, 0).Err())
	crowd := make([]*child, processes)
	for i := range crowd {
		crowd[i] = spawn(t, "race", srv.Addr(), "k")
	}
	for _, c := range crowd {
		c.hear("ready")
	}
	for _, c := range crowd {
		c.proceed()
	}
	owners := map[string]bool{}
	for _, c := range crowd {
		c.exits()
		for _, line := range c.heard {
			require.NotContains(t, line, "failed")
			value, ok := strings.CutPrefix(line, "value ")
			if !ok {
				continue
			}
			require.NotContains(t, owners, value, "of one process only")
			owners[value] = true
			random := value[strings.LastIndex(value, "/")+1:]
			require.Regexp(t, `^[0-9a-f]{32,}$`, random, "128 bits or more")
		}
	}
	require.GreaterOrEqual(t, len(owners), processes)
	count, err := look.Get(t.Context(), "count").Int()
	require.NoError(t, err)
	require.Equal(t, processes*racers, count, "never two at a time")
	var tokens []uint64
	require.NoError(t, look.LRange(t.Context(), "tokens", 0, -1).ScanSlice(&tokens))
	require.Len(t, tokens, processes*racers)
	require.IsIncreasing(t, tokens)

	// Nor has one node a value twice.
	m, values := redisManager(t, srv), map[string]bool{}
	for range 100 {
		require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			values[look.Get(ctx, "k").Val()] = true
			return nil
		}))
	}
	require.Len(t, values, 100)
}

// playChurn takes and releases the key args[0] for as long as it lives.
func playChurn(n *node, args []string) error {
	say("ready")
	for {
		err := n.WithLock(context.Background(), args[0], nothing, actorlock.TTL(300*time.Millisecond),
			actorlock.RetryAttempts(actorlock.RetryForever), actorlock.RetryDelay(5*time.Millisecond))
		if err != nil {
			return err
		}
	}
}

// Processes take the lock a thousand times and are killed at random. Value and
// expiry are set in one step, so that the key never stands without an expiry.
func TestCase_B027(t *testing.T) {
	srv := redisServer(t)
	look := srv.Client(t)
	monitor := srv.Monitor(t)
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if left, err := look.PTTL(context.Background(), "k").Result(); err != nil || left == -1 {
				t.Errorf("the key has no expiry: %v, %v", left, err)
				return
			}
		}
	})
	sets := 0
	for sets < 1000 {
		c := spawn(t, "churn", srv.Addr(), "k")
		c.hear("ready")
		<-time.After(50*time.Millisecond + rand.N(300*time.Millisecond))
		c.kill()
		sets = 0
		for _, line := range monitor.Lines() {
			_, command, _ := strings.Cut(strings.ToLower(line), "] ")
			require.NotContains(t, command, `"setnx"`)
			require.NotContains(t, command, `"expire"`)
			if strings.HasPrefix(command, `"set" "k" `) {
				require.Contains(t, command, `"nx" "px" "300"`)
				sets++
			}
		}
	}
	close(done)
	watcher.Wait()
	killed := time.Now()
	eventually(t, func() bool { return look.Exists(t.Context(), "k").Val() == 0 })
	require.Less(t, time.Since(killed), 5*time.Second)
}
