package actors_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// readmeRule is the README's command that makes a user, with changes.
func readmeRule(t *testing.T, without []string, more ...string) (rule []any) {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for word := range strings.FieldsSeq(regexp.MustCompile(`(?m)^ACL SETUSER locks .*$`).FindString(string(text))) {
		if !slices.Contains(without, word) {
			rule = append(rule, word)
		}
	}
	require.NotEmpty(t, rule)
	for _, word := range more {
		rule = append(rule, word)
	}
	return rule
}

// allOfIt waits, extends, hands over and looks with two managers.
func allOfIt(t *testing.T, client func() redis.UniversalClient, key string, opts ...redisstore.Option) *logs {
	t.Helper()
	log := quietLogger(t)
	opts = append(opts, redisstore.Logger(log.Logger))
	a, b := newManager(t, redisStore(t, client(), opts...)), newManager(t, redisStore(t, client(), opts...))
	h := hold(t, a, key, actorlock.TTL(900*time.Millisecond))
	local := start(a, key, nothing, retryForever)
	remote := start(b, key, nothing, retryForever, actorlock.RetryDelay(20*time.Millisecond))
	queued(t, a, key, 1)
	queued(t, b, key, 1)
	goesOn(t, h.ctx)
	seen, err := b.Inspect(context.Background(), key)
	require.NoError(t, err)
	require.True(t, seen.Held)
	require.NoError(t, h.let())
	require.NoError(t, local.wait())
	require.NoError(t, remote.wait())
	return log
}

func refusals(t *testing.T, servers ...*redistest.Server) (n int) {
	t.Helper()
	for _, s := range servers {
		log, err := s.Client(t).ACLLog(t.Context(), 100).Result()
		require.NoError(t, err)
		n += len(log)
	}
	return n
}

// contract 9.3
func TestReadmeUser(t *testing.T) {
	srv := redisServer(t)
	client := func() redis.UniversalClient {
		return userClient(t, srv.Addr(), func(o *redis.Options) {
			o.Username, o.Password, o.DisableIdentity = "locks", "secret", true
		})
	}
	require.NoError(t, srv.Client(t).Do(t.Context(), readmeRule(t, nil)...).Err())
	log := allOfIt(t, client, "report:rebuild")
	require.Zero(t, log.count("level=WARN"), log.text())
	require.Zero(t, refusals(t, srv))

	// Without what is said to be for wake-ups alone.
	wakeUps := []string{"+publish", "+subscribe", "+unsubscribe", "+ping", "&actorlock:wake:report:*"}
	require.NoError(t, srv.Client(t).Do(t.Context(), "acl", "deluser", "locks").Err())
	require.NoError(t, srv.Client(t).Do(t.Context(), readmeRule(t, wakeUps)...).Err())
	log = allOfIt(t, client, "report:rebuild")
	require.NotZero(t, log.count("only poll"))

	err := newManager(t, redisStore(t, client())).WithLock(t.Context(), "another", never(t))
	require.True(t, redis.IsPermissionError(err), "%v", err)
	require.Equal(t, 1, refused(t, err).Attempts, "no use in trying again")
}

// contract 9.3
func TestReadmeUserOfACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 2, true)
	all := append(slices.Clone(cluster.Masters), cluster.Replicas...)
	for _, srv := range all {
		require.NoError(t, srv.Client(t).Do(t.Context(), readmeRule(t, nil, "+cluster|slots", "+wait")...).Err())
	}
	client := func() redis.UniversalClient {
		return cluster.Client(t, func(o *redis.ClusterOptions) {
			o.Username, o.Password, o.DisableIdentity = "locks", "secret", true
		})
	}
	for _, key := range []string{"report:rebuild", "report:{x}", "report:a", "report:b"} {
		log := allOfIt(t, client, key, redisstore.MinReplicas(1))
		require.Zero(t, log.count("level=WARN"), log.text())
	}
	require.Zero(t, refusals(t, all...))
}
