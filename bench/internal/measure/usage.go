package measure

import (
	"context"
	"time"
)

// Usage is what client and server have spent, since they started or, after
// Since, in between.
type Usage struct {
	At       time.Time
	Elapsed  time.Duration // after Since
	Client   time.Duration // CPU of this process
	Server   time.Duration // CPU of the Redis server
	Commands float64       // executed by the server, those within scripts too
	Allocs   float64       // objects allocated by this process
	own      float64       // commands spent on looking
}

// Usage reads the counters of this process and of the server.
func (s *Server) Usage(ctx context.Context) (Usage, error) {
	// The client's side first at both ends: the look at the server is then in
	// neither figure but for a part of it, in all of them alike.
	u := Usage{At: time.Now(), Client: cpu()}
	u.Allocs, _ = Allocated()
	info, err := s.info(ctx, "cpu", "stats")
	if err != nil {
		return u, err
	}
	u.Server = info.seconds("used_cpu_user") + info.seconds("used_cpu_sys")
	u.Commands = info.number("total_commands_processed")
	u.own = 1
	return u, nil
}

// Since is what was spent after before.
func (u Usage) Since(before Usage) Usage {
	return Usage{
		At:       u.At,
		Elapsed:  u.At.Sub(before.At),
		Client:   u.Client - before.Client,
		Server:   u.Server - before.Server,
		Commands: u.Commands - before.Commands - before.own,
		Allocs:   u.Allocs - before.Allocs,
	}
}
