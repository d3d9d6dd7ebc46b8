package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/memstore"
)

// lateWord has the outcome of an attempt arrive a second late.
func lateWord(msg any, send func()) {
	if isOutcome(msg) {
		time.AfterFunc(time.Second, send)
		return
	}
	send()
}

// contract 8.1: a Shutdown that does not wait ends the context of a callback too
// whose owner has not heard yet that it runs.
func TestShutdownOvertakesTheGrant(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := startManager(t, actorlock.Config{Store: memstore.New(), System: sending(lateWord)})
		h := hold(t, m, "k")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = m.Shutdown(ctx)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(h.ctx), actorlock.ErrShutdown)
		require.ErrorIs(t, <-h.end, actorlock.ErrShutdown)
		close(h.free)
	})
}
