package tree

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/warm"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// newWork makes a Work whose goroutines have ended when the test has.
func newWork(t *testing.T) *Work {
	pool := warm.New(8)
	t.Cleanup(pool.Close)
	return NewWork(quiet(), pool)
}

func TestWorkRunsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork(t)
		require.NoError(t, w.Wait(t.Context()), "nothing runs")
		var ended atomic.Int32
		for i := range 5 {
			w.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				ended.Add(1)
			}, func(err error) { t.Error(err) })
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second/2, io.EOF)
		defer cancel()
		require.Equal(t, io.EOF, w.Wait(ctx))
		begin := time.Now()
		waits := make(chan error, 1)
		go func() { waits <- w.Wait(t.Context()) }()
		require.NoError(t, w.Wait(t.Context()))
		require.NoError(t, <-waits)
		require.EqualValues(t, 5, ended.Load())
		require.Equal(t, 3500*time.Millisecond, time.Since(begin))
	})
}

func TestWorkTurnsAPanicIntoAnError(t *testing.T) {
	w := newWork(t)
	failed := make(chan error, 2)
	w.Go(func() { panic(errors.New("ouch")) }, func(err error) { failed <- err })
	w.Go(func() { panic("ouch") }, func(err error) { failed <- err })
	require.NoError(t, w.Wait(t.Context()))
	for range 2 {
		require.ErrorContains(t, <-failed, "ouch")
	}
}
