package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/goleak"

	"github.com/actorlock/actorlock"
	"github.com/actorlock/actorlock/lease/redisstore"
)

// roleVariable makes the test binary a worker.
const roleVariable = "ACTORLOCK_TORTURE_WORKER"

// role is what a worker is told, in JSON.
type role struct {
	Redis, Register string
	Worker, Seed    uint64
	Callers         int
	Long            int // of 1000 sections, last for up to some TTLs
	Keys            []string
	TTL             time.Duration
	Broken          string // how to break the lock, for tests of the checks
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func fail(format string, args ...any) {
	say("failed: "+format, args...)
	os.Exit(1)
}

// playWorker is the life of a worker process. It works until it reads "finish";
// every caller then has to get through once more.
func playWorker(text string) int {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		fail("%v", err)
	}
	started := goleak.IgnoreCurrent()
	store, err := redisstore.Open("redis://"+r.Redis, redisstore.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fail("%v", err)
	}
	m, err := actorlock.New(actorlock.Config{Store: store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fail("%v", err)
	}
	var callers sync.WaitGroup
	var finish atomic.Bool
	for i := range r.Callers {
		l, err := dialRegister(r.Register)
		if err != nil {
			fail("%v", err)
		}
		c := &caller{
			role: r, m: m, register: l, hold: r.Worker<<40 | uint64(i)<<32,
			rand: rand.New(rand.NewPCG(r.Seed, uint64(i))),
		}
		callers.Go(func() { c.work(&finish) })
	}
	say("ready")
	told := make(chan struct{})
	go func() {
		in := bufio.NewScanner(os.Stdin)
		if in.Scan() {
			close(told)
			for in.Scan() {
			}
		}
		os.Exit(3) // the test is gone
	}()
	<-told
	finish.Store(true)
	callers.Wait()
	say("finished")

	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := m.Shutdown(ctx); err != nil {
		fail("shutdown: %v", err)
	}
	if err := store.Close(); err != nil {
		fail("close: %v", err)
	}
	// Commands given to a client that hung end within its own timeouts.
	input := goleak.IgnoreAnyFunction("github.com/actorlock/actorlock/torture.playWorker.func2")
	for {
		err := goleak.Find(started, input)
		if err == nil {
			say("bye")
			return 0
		}
		if ctx.Err() != nil {
			fail("leak: %v", err)
		}
	}
}

// caller is one of a worker's; it runs one critical section after the other.
type caller struct {
	role
	m        *actorlock.Manager
	register *line
	rand     *rand.Rand
	hold     uint64
}

func (c *caller) work(finish *atomic.Bool) {
	defer c.register.conn.Close()
	for {
		// Before the section: it is then one that began after the word.
		last := finish.Load()
		if c.section(last) && last {
			return
		}
	}
}

// section makes a call, and reports whether its callback ran to its end.
func (c *caller) section(last bool) bool {
	c.hold++
	asked := clock()
	key := c.Keys[c.rand.IntN(len(c.Keys))]
	done := false
	run := func(ctx context.Context) error {
		done = c.enter(ctx, key, asked)
		return nil
	}
	var err error
	switch ctx, cancel := c.limit(last); {
	case c.Broken == "ignores":
		err = run(ctx)
		cancel()
	case c.rand.IntN(8) == 0:
		err = c.manually(ctx, key, run)
		cancel()
	default:
		// AwaitCallback: otherwise the callback might outlive the call, and
		// share the connection to the register with the next one.
		err = c.m.WithLock(ctx, key, run, append(c.options(), actorlock.AwaitCallback())...)
		cancel()
	}
	lost, isLost := errors.AsType[*actorlock.LockLostError](err)
	c.register.tell(report{Op: left, Hold: c.hold, At: clock(), Lost: isLost})
	if isLost && errors.Is(lost, actorlock.ErrShutdown) {
		fail("a loss by shutdown: %v", err)
	}
	return done && err == nil
}

// limit bounds some of the calls; the last one has to get through.
func (c *caller) limit(last bool) (context.Context, context.CancelFunc) {
	if !last && c.rand.IntN(10) == 0 {
		return context.WithTimeout(context.Background(), time.Duration(c.rand.Int64N(int64(c.TTL))))
	}
	return context.WithCancel(context.Background())
}

func (c *caller) options() []actorlock.Option {
	opts := []actorlock.Option{
		actorlock.TTL(c.TTL),
		actorlock.RetryAttempts(actorlock.RetryForever),
		actorlock.RetryDelay(time.Duration(10+c.rand.IntN(60)) * time.Millisecond),
		actorlock.HandOver(c.rand.IntN(4) > 0),
	}
	if c.rand.IntN(2) == 0 {
		opts = append(opts, actorlock.OnRedisError(actorlock.RetryUntilDeadline))
	}
	return opts
}

func (c *caller) manually(ctx context.Context, key string, run func(context.Context) error) error {
	lock, err := c.m.Acquire(ctx, key, c.options()...)
	if err != nil {
		return err
	}
	_ = run(lock.Context())
	return lock.Release(context.Background())
}
