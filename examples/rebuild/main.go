// Command rebuild shows a lock at work: three nodes that all want to rebuild
// the same report.
//
//	go run ./examples/rebuild
//	go run ./examples/rebuild -redis redis://localhost:6379
//
// Without -redis the nodes share a store in memory, and no server is needed.
// With it, copies started in several terminals exclude each other as well.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

// key is what all nodes, of all copies of this program, compete for.
const key = "report:rebuild"

// limit ends a copy that waits in vain, for instance for a key without expiry.
const limit = 2 * time.Minute

func main() {
	redisURL := flag.String("redis", "", "`URL` of a Redis server: redis://, rediss:// or unix://")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "rebuild: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}
	// All waiting below is bounded by ctx: an interrupt ends it, and the nodes
	// then release what they hold.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *redisURL); err != nil {
		fmt.Fprintln(os.Stderr, "rebuild:", err)
		os.Exit(1)
	}
}

// run plays all scenes on a cluster of its own.
func run(ctx context.Context, out io.Writer, redisURL string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := openCluster(redisURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()

	// A server that cannot be reached is one error here, and three further on.
	if _, err := c.nodes[0].Inspect(ctx, key); err != nil {
		return err
	}
	s := &show{cluster: c, out: out, start: time.Now()}
	for _, scene := range []func(context.Context) error{s.rush, s.nested, s.theft, s.shutdown} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}
