package actors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// slowWord has whoever tells of the outcome of an attempt go on a second later.
func slowWord(msg any, send func()) {
	send()
	if isOutcome(msg) {
		<-time.After(time.Second)
	}
}

// contract 5.2: a lock that is lost before its callback has begun is not left to
// stand for its TTL: nothing will run under it.
func TestLostBeforeTheCallbackBegan(t *testing.T) {
	for name, opts := range map[string][]actorlock.Option{"": nil, "await": {actorlock.AwaitCallback()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mem := memstore.New()
				m := startManager(t, actorlock.Config{Store: mem, System: sending(slowWord)})
				err := m.WithLock(t.Context(), "k", never(t), append(opts, actorlock.MaxHold(1))...)
				require.ErrorIs(t, err, actorlock.ErrHeldTooLong)
				refused(t, err)
				pass(2 * time.Second)
				require.Zero(t, mem.Len())
			})
		})
	}
}

// contract 5.1: a callback does not begin on a lease that has expired, when
// whoever got that was stopped for so long.
func TestLeaseThatExpiredBeforeTheCallbackBegan(t *testing.T) {
	for name, opts := range map[string][]actorlock.Option{"": nil, "await": {actorlock.AwaitCallback()}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mem := memstore.New()
				m := startManager(t, actorlock.Config{Store: mem, System: sending(func(msg any, send func()) {
					if isOutcome(msg) {
						<-time.After(2 * time.Second)
					}
					send()
				})})
				err := m.WithLock(t.Context(), "k", never(t), append(opts, actorlock.TTL(time.Second))...)
				require.ErrorIs(t, err, actorlock.ErrLeaseExpired)
				refused(t, err)
				pass(2 * time.Second)
				require.Zero(t, mem.Len())
			})
		})
	}
}
