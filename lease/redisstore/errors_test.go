package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/lease"
)

// reply is an error as a server sends it.
type reply string

func (e reply) Error() string { return string(e) }
func (reply) RedisError()     {}

func TestKinds(t *testing.T) {
	const wrapped = "ERR Error running script (call to f_0123456789abcdef): @user_script:41: "
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		err   error
		doubt bool
		want  lease.Kind
	}{
		{reply("LOADING Redis is loading the dataset in memory"), false, lease.NotExecuted},
		{reply("READONLY You can't write against a read only replica. script: x, on @user_script:1."), false, lease.NotExecuted},
		{reply("MASTERDOWN Link with MASTER is down"), false, lease.NotExecuted},
		{reply("CLUSTERDOWN The cluster is down"), false, lease.NotExecuted},
		{reply("TRYAGAIN Multiple keys request during rehashing of slot"), false, lease.NotExecuted},
		{reply("BUSY Redis is busy running a script"), false, lease.NotExecuted},
		{reply("MISCONF Errors writing to the AOF file"), false, lease.NotExecuted},
		{reply("OOM command not allowed when used memory > 'maxmemory'"), false, lease.NotExecuted},
		{reply("NOREPLICAS Not enough good replicas to write."), false, lease.NotExecuted},
		{reply("ERR max number of clients reached"), false, lease.NotExecuted},
		{reply("MOVED 1 127.0.0.1:1"), false, lease.NotExecuted},
		{reply("ASK 1 127.0.0.1:1"), false, lease.NotExecuted},
		{redis.ErrPoolTimeout, false, lease.NotExecuted},
		{dial, false, lease.NotExecuted},
		{reply("NOAUTH Authentication required."), false, lease.Permanent},
		{reply("WRONGPASS invalid username-password pair"), false, lease.Permanent},
		{fmt.Errorf("failed to authenticate: %w", reply("WRONGPASS invalid")), false, lease.Permanent},
		{reply("NOPERM this user has no permissions"), false, lease.Permanent},
		{reply("ERR The user executing the script can't run this command or subcommand script: x"), false, lease.Permanent},
		{reply("CROSSSLOT Keys in request don't hash to the same slot"), false, lease.Permanent},
		{reply("WRONGTYPE Operation against a key holding the wrong kind of value script: x"), false, lease.Permanent},
		{redis.ErrClosed, false, lease.Permanent},
		// Servers before 7.0.
		{reply(wrapped + "WRONGTYPE Operation against a key"), false, lease.Permanent},
		{reply(wrapped + "@user_script: 41: -READONLY You can't write against a read only replica."), false, lease.NotExecuted},
		{reply(wrapped + "-NOPERM The user executing the script can't run this command"), false, lease.Permanent},
		// Sent, and no answer.
		{io.EOF, false, lease.Unknown},
		{context.DeadlineExceeded, false, lease.Unknown},
		{errors.New("read tcp: i/o timeout"), false, lease.Unknown},
		{&panicError{"x"}, false, lease.Unknown},
		// It was sent before: the last error speaks for the last send.
		{dial, true, lease.Unknown},
		{redis.ErrPoolTimeout, true, lease.Unknown},
		{reply("LOADING x"), true, lease.Unknown},
		{reply("WRONGPASS x"), true, lease.Unknown},
	} {
		cmd := call(t.Context(), acquireScript, new("k"), nil)
		cmd.doubt = c.doubt
		cmd.SetErr(c.err)
		err := cmd.failure("acquire")
		require.Equal(t, c.want, lease.KindOf(err), "%v, doubt: %v", c.err, c.doubt)
		require.ErrorIs(t, err, c.err)
		require.ErrorContains(t, err, "acquire: ")
	}
}
