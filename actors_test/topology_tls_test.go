package actors_test

import (
	"crypto/tls"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/internal/redistest"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// A server that asks for certificates: a client that has one does everything
// there, one that has none, or does not know the authority, does nothing.
//
// contract 9.1
func TestTLSWithAClientCertificate(t *testing.T) {
	certs := redistest.NewCerts(t)
	srv := redisServer(t, redistest.TLS(certs))
	with := func(config *tls.Config) *actorlock.Manager {
		return newManager(t, redisStore(t, userClient(t, srv.TLSAddr(), func(o *redis.Options) {
			o.TLSConfig, o.DialerRetries = config, 1
		})))
	}
	a, b := with(certs.Client()), with(certs.Client())
	h := hold(t, a, "k", actorlock.TTL(900*time.Millisecond))
	w := start(b, "k", nothing, retryForever, actorlock.RetryDelay(time.Hour))
	queued(t, b, "k", 1)
	goesOn(t, h.ctx)
	require.EqualValues(t, 1, srv.Client(t).Exists(t.Context(), "k").Val())
	require.NoError(t, h.let())
	require.NoError(t, w.wait())

	for _, config := range []*tls.Config{certs.Anonymous(), {}} {
		err := with(config).WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(1))
		require.NotErrorIs(t, err, actorlock.ErrHeld)
		require.ErrorContains(t, refused(t, err), "certificate")
	}
	require.Zero(t, srv.Client(t).Exists(t.Context(), "k").Val())
}

// contract 9.1
func TestTLSByURL(t *testing.T) {
	srv := redisServer(t, redistest.TLS(redistest.NewCerts(t)), redistest.Args("--tls-auth-clients", "no"))
	open := func(query string) *actorlock.Manager {
		store, err := redisstore.Open("rediss://"+srv.TLSAddr()+query, redisstore.Logger(quietLogger(t).Logger))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		return newManager(t, store)
	}
	err := open("").WithLock(t.Context(), "k", never(t), actorlock.RetryAttempts(0))
	require.ErrorContains(t, err, "unknown authority", "the machine's own list does not have it")
	m := open("?skip_verify=true")
	h := hold(t, m, "k", actorlock.TTL(900*time.Millisecond))
	goesOn(t, h.ctx) // over the client for renewals, too
	require.NoError(t, h.let())
}
