package redistest

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestSentinelsReplaceADeadPrimary(t *testing.T) {
	w := StartSentinels(t, 2, nil)
	c := w.Client(t)
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	require.EqualValues(t, 2, c.Wait(t.Context(), 2, 0).Val())
	require.NoError(t, w.Primary.Kill())
	require.Equal(t, "v", w.Promoted(t).Client(t).Get(t.Context(), "k").Val())
}

func TestClusterMovesASlot(t *testing.T) {
	begin := time.Now()
	c := StartCluster(t, 3, true)
	t.Log("formed after", time.Since(begin))
	client := c.Client(t)
	require.NoError(t, client.Set(t.Context(), "k", "v", 0).Err())
	from := c.Of(t, "k")
	to := (from + 1) % 3
	m := c.Migrate(t, c.Slot(t, "k"), from, to)
	m.Finish(t)
	require.Equal(t, "v", c.Masters[to].Client(t).Get(t.Context(), "k").Val())
	require.Equal(t, "v", client.Get(t.Context(), "k").Val())
}

func TestTLSAsksForACertificate(t *testing.T) {
	certs := NewCerts(t)
	s := Start(t, TLS(certs))
	for _, known := range []bool{true, false} {
		config := certs.Anonymous()
		if known {
			config = certs.Client()
		}
		c := redis.NewClient(&redis.Options{Addr: s.TLSAddr(), TLSConfig: config, MaxRetries: -1, DialerRetries: 1})
		err := c.Ping(t.Context()).Err()
		require.NoError(t, c.Close())
		require.Equal(t, known, err == nil, "%v", err)
	}
}
