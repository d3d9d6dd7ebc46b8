package warm

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func (p *Pool) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

func TestPoolReusesAndForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(8)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				done := make(chan struct{})
				p.Go(Func(func() { close(done) }))
				<-done
			})
		}
		wg.Wait()
		synctest.Wait()
		require.LessOrEqual(t, p.count(), 8)
		require.NotZero(t, p.count())
		time.Sleep(2*keep + time.Millisecond)
		synctest.Wait()
		require.Zero(t, p.count())
	})
}

func TestPoolKeepsWhatIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(8)
		for range 50 {
			done := make(chan struct{})
			p.Go(Func(func() { close(done) }))
			<-done
			synctest.Wait()
			require.Equal(t, 1, p.count())
			time.Sleep(keep / 2)
		}
		p.Close()
	})
}

func TestPoolClosed(t *testing.T) {
	p := New(8)
	block, done := make(chan struct{}), make(chan struct{})
	p.Go(Func(func() { <-block }))
	p.Close()
	p.Close()
	close(block)
	p.Go(Func(func() { close(done) }))
	<-done
	require.Zero(t, p.count())
}
