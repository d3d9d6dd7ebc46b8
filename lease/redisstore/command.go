package redisstore

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/actorlock/actorlock/lease"
)

// command is one command to the server, and what became of it.
type command struct {
	*redis.Cmd

	script *script // nil for a plain command
	once   bool    // must not be executed twice
	key    string  // a key in its cluster slot
	item   int     // of a batch, whose verdict it bears; -1 for none
	doubt  bool    // an earlier send may have been executed
	alone  [1]*command
}

// NoRetry keeps the client from sending the command again by itself. It
// overrides the method of the embedded command.
func (c *command) NoRetry() bool { return true }

// call makes the command that runs a script on one or two keys. Arguments that
// are pointers, to what outlives the command, save an allocation each.
func call(ctx context.Context, s *script, key, key2 *string, args ...any) *command {
	all := make([]any, 0, 5+len(args))
	all = append(all, "evalsha", s.arg, 1, key)
	if key2 != nil {
		all[2] = 2
		all = append(all, key2)
	}
	c := &command{Cmd: scriptCmd(ctx, append(all, args...)), script: s, key: *key, item: -1}
	c.alone[0] = c
	return c
}

// scriptCmd wraps the arguments of EVALSHA or EVAL. Both positions are what a
// cluster client would otherwise ask the server for, with COMMAND.
func scriptCmd(ctx context.Context, args []any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(3)
	cmd.SetStepCount(1)
	return cmd
}

// get makes a plain GET.
func get(ctx context.Context, key string) *command {
	c := &command{Cmd: getCmd(ctx, key), key: key, item: -1}
	c.alone[0] = c
	return c
}

func getCmd(ctx context.Context, key string) *redis.Cmd {
	cmd := redis.NewCmd(ctx, "get", key)
	cmd.SetFirstKeyPos(1)
	cmd.SetStepCount(1)
	return cmd
}

// What a command needs after it was sent.
type step int

const (
	settled  step = iota // nothing
	spellOut             // to be sent as EVAL: the server does not know its script
	resend               // to be sent again
)

// next tells what the command needs, and notes a doubt.
func (c *command) next() step {
	err := c.Err()
	if err == nil {
		return settled
	}
	if c.script != nil && c.Args()[0] == "evalsha" && redis.HasErrorPrefix(err, "NOSCRIPT") {
		return spellOut
	}
	kind, passing := judge(err)
	if kind == lease.Unknown {
		c.doubt = true
	}
	if !passing || kind == lease.Unknown && c.once {
		return settled
	}
	return resend
}

// renew makes the command ready to be sent once more.
func (c *command) renew(ctx context.Context) {
	if c.script == nil {
		c.Cmd = getCmd(ctx, c.key)
		return
	}
	args := slices.Clone(c.Args())
	if redis.HasErrorPrefix(c.Err(), "NOSCRIPT") {
		args[0], args[1] = "eval", c.script.source
	}
	c.Cmd = scriptCmd(ctx, args)
}
