package redistest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Watched is a primary with replicas, watched over by three sentinels.
type Watched struct {
	Name      string // of the primary, as the sentinels know it
	Primary   *Server
	Replicas  []*Server
	Sentinels []*Server
}

// How long a primary of a Watched must be silent before the sentinels replace it.
const downAfter = 400 * time.Millisecond

// StartSentinels runs a primary, its replicas and three sentinels until the test
// ends, and returns when the sentinels know them all, so that they would agree
// on a failover. upstream, if not nil, is told the primary's address and returns
// where the replicas find it: a proxy, say.
func StartSentinels(t testing.TB, replicas int, upstream func(addr string) string) *Watched {
	t.Helper()
	w := &Watched{Name: "main", Primary: Start(t, replication)}
	from := w.Primary.Addr()
	if upstream != nil {
		from = upstream(from)
	}
	for range replicas {
		w.Replicas = append(w.Replicas, Start(t, replication, ReplicaOf(from)))
	}
	AwaitReplicas(t, w.Primary, replicas)
	for range 3 {
		w.Sentinels = append(w.Sentinels, Start(t, w.watch()))
	}
	for _, s := range w.Sentinels {
		look := s.Client(t)
		await(t, "the sentinels know all", func(ctx context.Context) bool {
			seen := look.Do(ctx, "sentinel", "master", w.Name)
			state, _ := seen.Val().(map[any]any)
			return state["num-slaves"] == fmt.Sprint(replicas) && state["num-other-sentinels"] == "2"
		})
	}
	return w
}

// Addrs is where the sentinels listen.
func (w *Watched) Addrs() []string {
	var addrs []string
	for _, s := range w.Sentinels {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Client returns a client of an application, which finds the primary by the
// sentinels. It is closed when the test ends.
func (w *Watched) Client(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: w.Name, SentinelAddrs: w.Addrs(), ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Promoted returns the replica that the sentinels have made the primary, once
// they have.
func (w *Watched) Promoted(t testing.TB) *Server {
	t.Helper()
	return AwaitPromotion(t, w.Replicas...)
}

// AwaitPromotion returns that of the replicas which has become a primary, once
// it has.
func AwaitPromotion(t testing.TB, replicas ...*Server) *Server {
	t.Helper()
	var looks []*redis.Client
	for _, r := range replicas {
		looks = append(looks, r.Client(t))
	}
	var found *Server
	await(t, "a replica is promoted", func(ctx context.Context) bool {
		for i, look := range looks {
			if strings.Contains(look.Info(ctx, "replication").Val(), "role:master") {
				found = replicas[i]
			}
		}
		return found != nil
	})
	return found
}

// replication keeps a first synchronisation from waiting for more replicas.
func replication(c *config) {
	Args("--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0")(c)
}

func (w *Watched) watch() Option {
	host, port, _ := strings.Cut(w.Primary.Addr(), ":")
	conf := fmt.Sprintf(`bind %[1]s
sentinel monitor %[2]s %[1]s %[3]s 2
sentinel down-after-milliseconds %[2]s %[4]d
sentinel failover-timeout %[2]s 3000
`, host, w.Name, port, downAfter.Milliseconds())
	return func(c *config) { c.sentinel = conf }
}

func sentinelFile(dir string) string { return filepath.Join(dir, "sentinel.conf") }

// AwaitReplicas returns when n replicas of s follow it: they have what is
// written to it.
func AwaitReplicas(t testing.TB, s *Server, n int) {
	t.Helper()
	look := s.Client(t)
	await(t, "the replicas follow", func(ctx context.Context) bool {
		pipe := look.Pipeline()
		pipe.Publish(ctx, "redistest", "") // replicated, and leaves no trace
		have := pipe.Do(ctx, "wait", n, 200)
		_, _ = pipe.Exec(ctx)
		return have.Val() == int64(n)
	})
}

// await waits for what no server sends a signal of.
func await(t testing.TB, what string, holds func(context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*readyWithin)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !holds(ctx) {
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatalf("redistest: waiting until %s: %v", what, ctx.Err())
		}
	}
}
