package redistest

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Client returns a plain client to look at the server with, next to the code
// under test. It gives up after two seconds, does not retry, says nothing to the
// server but its commands (and the HELLO that go-redis opens a connection with),
// and is closed when the test ends.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	const limit = 2 * time.Second
	c := redis.NewClient(&redis.Options{
		Addr:                     s.Addr(),
		Password:                 s.cfg.password,
		DialTimeout:              limit,
		ReadTimeout:              limit,
		WriteTimeout:             limit,
		ContextTimeoutEnabled:    true,
		MaxRetries:               -1,
		DialerRetries:            1,
		PoolSize:                 4,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}
