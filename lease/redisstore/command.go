package redisstore

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/actorlock/actorlock/lease"
)

// command is one command to the server, and what became of it, in one piece.
type command struct {
	redis.Cmd

	script *script // nil for a plain command
	once   bool    // must not be executed twice
	key    string  // a key in its cluster slot
	item   int     // of a batch, whose verdict it bears; -1 for none
	doubt  bool    // an earlier send may have been executed
	alone  [1]*command
	room   [9]any // for its arguments
}

// NoRetry keeps the client from sending the command again by itself. It
// overrides the method of the embedded command.
func (c *command) NoRetry() bool { return true }

// call makes the command that runs a script on one or two keys. Arguments that
// are pointers, to what outlives the command, save an allocation each.
func call(ctx context.Context, s *script, key, key2 *string, args ...any) *command {
	c := new(command)
	c.call(ctx, s, key, key2, args...)
	return c
}

// call makes c the command that call makes.
func (c *command) call(ctx context.Context, s *script, key, key2 *string, args ...any) {
	all := append(c.room[:0], "evalsha", s.arg, 1, key)
	if key2 != nil {
		all[2] = 2
		all = append(all, key2)
	}
	c.script, c.key, c.item, c.alone[0] = s, *key, -1, c
	c.set(ctx, append(all, args...))
}

// get makes a plain GET.
func get(ctx context.Context, key string) *command {
	c := &command{key: key, item: -1}
	c.alone[0] = c
	c.set(ctx, append(c.room[:0], "get", key))
	return c
}

// set makes c ready to be sent. The positions of keys are what a cluster client
// would otherwise ask the server for, with COMMAND.
func (c *command) set(ctx context.Context, args []any) {
	c.Cmd = *redis.NewCmd(ctx, args...)
	c.SetFirstKeyPos(1)
	if c.script != nil {
		c.SetFirstKeyPos(3)
	}
	c.SetStepCount(1)
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
	args := slices.Clone(c.Args())
	if c.script != nil && redis.HasErrorPrefix(c.Err(), "NOSCRIPT") {
		args[0], args[1] = "eval", c.script.source
	}
	c.set(ctx, args)
}
