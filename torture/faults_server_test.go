package torture

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	flushScripts = fault{"forget scripts", 0, send("script", "flush")}
	killClients  = fault{"kill clients", 0, send("client", "kill", "type", "normal")}
	killWatchers = fault{"kill subscribers", 0, send("client", "kill", "type", "pubsub")}
)

// gentleOnServer leave every key its TTL.
var gentleOnServer = []fault{
	flushScripts, killClients, killWatchers,
	{"pause the server", 2, func(r *round, _ *worker, d time.Duration) {
		_ = r.server.Pause()
		time.Sleep(d)
		_ = r.server.Resume()
	}},
	{"restart with data", 1, restart},
	{"memory is full", 1, full("noeviction")},
	{"busy script", 1, busy},
	{"expire later", 0, onKey(func(r *round, key string) redis.Cmder {
		return r.redis.PExpire(r.t.Context(), key, r.ttl+500*time.Millisecond)
	})},
}

// cruelOnServer take keys away.
var cruelOnServer = []fault{
	flushScripts, killClients, killWatchers,
	{"restart without data", 0.5, restart},
	{"evict", 0.5, full("allkeys-lru")},
	{"delete everything", 0, send("flushall")},
	{"delete a lock", 0, onKey(func(r *round, key string) redis.Cmder { return r.redis.Del(r.t.Context(), key) })},
	{"expire sooner", 0, onKey(func(r *round, key string) redis.Cmder {
		return r.redis.PExpire(r.t.Context(), key, time.Millisecond)
	})},
	{"steal", 0, onKey(func(r *round, key string) redis.Cmder {
		return r.redis.Set(r.t.Context(), key, "thief/1", r.ttl/4)
	})},
}

// do sends a command past the proxies. A CLIENT KILL may hit its own client.
func (r *round) do(args ...any) error {
	err := r.redis.Do(r.t.Context(), args...).Err()
	if err != nil {
		err = r.redis.Do(r.t.Context(), args...).Err()
	}
	return err
}

func (r *round) must(args ...any) {
	if err := r.do(args...); err != nil {
		r.t.Errorf("%v: %v", args, err)
	}
}

func send(args ...any) func(*round, *worker, time.Duration) {
	return func(r *round, _ *worker, _ time.Duration) { r.must(args...) }
}

func onKey(change func(r *round, key string) redis.Cmder) func(*round, *worker, time.Duration) {
	return func(r *round, _ *worker, _ time.Duration) {
		key := r.keys[rand.IntN(len(r.keys))]
		if change(r, key).Err() != nil { // a connection from before a restart
			if err := change(r, key).Err(); err != nil {
				r.t.Error(err)
			}
		}
	}
}

func restart(r *round, _ *worker, d time.Duration) {
	_ = r.server.Kill()
	time.Sleep(d)
	_ = r.server.Restart()
	for range 8 { // the client's connections are dead
		if r.redis.Ping(r.t.Context()).Err() == nil {
			break
		}
	}
}

func full(policy string) func(*round, *worker, time.Duration) {
	return func(r *round, _ *worker, d time.Duration) {
		r.must("config", "set", "maxmemory-policy", policy)
		r.must("config", "set", "maxmemory", "1")
		time.Sleep(d)
		r.must("config", "set", "maxmemory", "0")
	}
}

// busy runs a script that does not end by itself.
func busy(r *round, _ *worker, d time.Duration) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c := redis.NewClient(&redis.Options{Addr: r.server.Addr(), MaxRetries: -1, ReadTimeout: patience})
		defer c.Close()
		_ = c.Eval(ctx, "while true do end", nil).Err()
	}()
	time.Sleep(d)
	for {
		// It fails before the script has begun, and after it was killed.
		_ = r.do("script", "kill")
		select {
		case <-ended:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
