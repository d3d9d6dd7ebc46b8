package actors_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// contract 9.1
func TestStoreByURL(t *testing.T) {
	srv := redisServer(t, redistest.Password("p@ss/word"), redistest.Unix())
	for _, url := range []string{srv.URL(), srv.SocketURL()} {
		store, err := redisstore.Open(url)
		require.NoError(t, err)
		m := newManager(t, store)
		require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
			require.EqualValues(t, 1, srv.Client(t).Exists(ctx, "k").Val())
			return nil
		}))
		require.NoError(t, m.Shutdown(t.Context()))
		require.NoError(t, store.Close())
	}
}

// contract 9.1
func TestStoreBySentinel(t *testing.T) {
	w := redistest.StartSentinels(t, 0, nil)
	m := newManager(t, redisStore(t, w.Client(t)))
	require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		require.EqualValues(t, 1, w.Primary.Client(t).Exists(ctx, "k").Val())
		return nil
	}))
	require.NoError(t, m.Shutdown(t.Context()))
}

// contract 9.1
func TestStoreOverTLS(t *testing.T) {
	srv := redisServer(t)
	outside := httptest.NewTLSServer(nil) // for its certificate
	defer outside.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", outside.TLS)
	require.NoError(t, err)
	var links sync.WaitGroup
	links.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", srv.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			links.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
			links.Go(func() { _, _ = io.Copy(in, out); _ = in.Close() })
		}
	})
	client := userClient(t, l.Addr().String(), func(o *redis.Options) {
		o.TLSConfig = outside.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		o.TLSConfig.ServerName = "example.com"
	})
	m := newManager(t, redisStore(t, client))
	require.NoError(t, m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		require.EqualValues(t, 1, srv.Client(t).Exists(ctx, "k").Val())
		return nil
	}))
	require.NoError(t, m.Shutdown(t.Context()))
	require.NoError(t, client.Close())
	require.NoError(t, l.Close())
	links.Wait()
}

// contract 9.1
// contract 9.2
func TestStoreOnACluster(t *testing.T) {
	srv := redisServer(t, redistest.Args("--cluster-enabled", "yes"))
	look := srv.Client(t)
	require.NoError(t, look.ClusterAddSlotsRange(t.Context(), 0, 16383).Err())
	eventually(t, func() bool {
		slots, err := look.ClusterSlots(t.Context()).Result()
		return err == nil && len(slots) == 1 && strings.Contains(look.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	})
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{srv.Addr()}})
	defer client.Close()
	m := newManager(t, redisStore(t, client))
	for _, key := range []string{"k", "a{b}c", "{}", "}{", "{x", "x}", "{{a}}", "a}b{c}", "{}{a}"} {
		h := hold(t, m, key, actorlock.TTL(300*time.Millisecond))
		w := start(m, key, nothing, retryForever)
		l, _ := actorlock.LeaseFrom(h.ctx)
		first := l.Deadline()
		eventually(t, func() bool { l, _ := actorlock.LeaseFrom(h.ctx); return l.Deadline().After(first) }, "an extension of %q", key)
		require.NoError(t, h.let(), key)
		require.NoError(t, w.wait(), key)
		require.Zero(t, look.Exists(t.Context(), key).Val())
	}
	require.NoError(t, m.Shutdown(t.Context()))
}

// contract 9.2
func TestScriptsSurviveFlushAndRestart(t *testing.T) {
	srv := redisServer(t, redistest.Persist())
	look := srv.Client(t)
	m := redisManager(t, srv)
	ttl := actorlock.TTL(600 * time.Millisecond)
	for i := range 3 {
		h := hold(t, m, "k", ttl)
		switch i {
		case 1:
			require.NoError(t, look.ScriptFlush(t.Context()).Err())
		case 2:
			require.NoError(t, srv.Restart())
			// The look is another client's: ours finds its connections cut.
		}
		l, _ := actorlock.LeaseFrom(h.ctx)
		first := l.Deadline()
		eventually(t, func() bool { l, _ := actorlock.LeaseFrom(h.ctx); return l.Deadline().After(first) }, "an extension")
		require.NoError(t, h.ctx.Err())
		if i == 1 {
			require.NoError(t, look.ScriptFlush(t.Context()).Err())
		}
		require.NoError(t, h.let(), "a release")
	}
}

// contract 9.2
func TestOnlyDeclaredKeysAreTouched(t *testing.T) {
	srv := redisServer(t)
	m := redisManager(t, srv, actorlock.TTL(300*time.Millisecond))
	other := redisManager(t, srv)
	require.NoError(t, m.WithLock(t.Context(), "warm up", nothing))
	mon := srv.Monitor(t)
	h := hold(t, m, "k")
	w := start(other, "k", nothing, retryForever, actorlock.RetryDelay(30*time.Millisecond))
	local := start(m, "k", nothing, retryForever)
	l, _ := actorlock.LeaseFrom(h.ctx)
	first := l.Deadline()
	eventually(t, func() bool { l, _ := actorlock.LeaseFrom(h.ctx); return l.Deadline().After(first) }, "an extension")
	require.NoError(t, h.let())
	require.NoError(t, w.wait())
	require.NoError(t, local.wait())

	var declared []string
	checked := 0
	for _, line := range mon.Lines() {
		_, command, _ := strings.Cut(line, "] ")
		words := strings.Split(strings.Trim(command, `"`), `" "`)
		if !strings.Contains(line, " lua] ") {
			declared = nil
			if words[0] == "evalsha" || words[0] == "eval" {
				n := int(words[2][0] - '0')
				declared = words[3 : 3+n]
				if strings.Contains(line, "actorlock:wake:") || words[len(words)-1] == "300" { // release, extend
					require.Len(t, declared, 1)
				}
			}
			continue
		}
		switch strings.ToLower(words[0]) {
		case "time", "publish":
		case "mget":
			require.Subset(t, declared, words[1:], line)
			checked++
		default:
			require.Contains(t, declared, words[1], line)
			checked++
		}
	}
	require.Greater(t, checked, 5)
}

// panicky is a hook of an application's client that panics while on.
type panicky struct{ on atomic.Bool }

func (p *panicky) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p *panicky) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if p.on.Load() {
			panic("the application's hook")
		}
		return next(ctx, cmd)
	}
}

func (p *panicky) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if p.on.Load() {
			panic(errors.New("the application's hook"))
		}
		return next(ctx, cmds)
	}
}

// contract 9.2
func TestPanicOfTheClientIsAnErrorOfTheCommand(t *testing.T) {
	srv := redisServer(t)
	client := userClient(t, srv.Addr())
	hook := new(panicky)
	client.AddHook(hook)
	m := newManager(t, redisStore(t, client))

	hook.on.Store(true)
	err := m.WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(2), actorlock.RetryDelay(time.Millisecond))
	require.ErrorContains(t, err, "the application's hook")
	require.Equal(t, 3, refused(t, err).Attempts)
	require.NotErrorIs(t, err, actorlock.ErrHeld)
	_, err = m.Inspect(t.Context(), "k")
	require.ErrorContains(t, err, "the application's hook")

	hook.on.Store(false)
	err = m.WithLock(t.Context(), "k", func(ctx context.Context) error {
		hook.on.Store(true)
		<-ctx.Done() // an extension
		return nil
	}, actorlock.TTL(300*time.Millisecond))
	var lost *actorlock.LockLostError
	require.ErrorAs(t, err, &lost)
	require.ErrorContains(t, err, "the application's hook")

	hook.on.Store(false)
	require.NoError(t, m.WithLock(t.Context(), "k2", func(context.Context) error { hook.on.Store(true); return nil }), "a release")
	hook.on.Store(false)
	require.NoError(t, m.WithLock(t.Context(), "k3", nothing), "all goes on")
}
