package redistest

import (
	"errors"
	"net"
	"os"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestStart(t *testing.T) {
	s := Start(t)

	require.NoError(t, s.Client(t).Set(t.Context(), "k", "v", 0).Err())
	require.Positive(t, s.Pid())
	require.Equal(t, "redis://"+s.Addr()+"/0", s.URL())
	require.Empty(t, s.Socket())
	require.Empty(t, s.SocketURL())
}

func TestServersAreSeparate(t *testing.T) {
	a, b := Start(t), Start(t)

	require.NotEqual(t, a.Addr(), b.Addr())
	require.NoError(t, a.Client(t).Set(t.Context(), "k", "v", 0).Err())
	require.ErrorIs(t, b.Client(t).Get(t.Context(), "k").Err(), redis.Nil)
}

func TestOptions(t *testing.T) {
	s := Start(t, Password("pass:w@rd"), Unix(), Args("--maxmemory", "1mb"))

	memory, err := s.Client(t).ConfigGet(t.Context(), "maxmemory").Result()
	require.NoError(t, err)
	require.Equal(t, "1048576", memory["maxmemory"])

	for _, url := range []string{s.URL(), s.SocketURL()} {
		opts, err := redis.ParseURL(url)
		require.NoError(t, err)
		c := redis.NewClient(opts)
		require.NoError(t, c.Ping(t.Context()).Err(), url)
		require.NoError(t, c.Close())
	}

	open := redis.NewClient(&redis.Options{Addr: s.Addr()})
	require.ErrorContains(t, open.Ping(t.Context()).Err(), "NOAUTH")
	require.NoError(t, open.Close())
}

func TestRunCleansUp(t *testing.T) {
	s, err := Run(Unix())
	require.NoError(t, err)
	require.NoError(t, s.Pause())

	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "again")

	require.Zero(t, s.Pid())
	require.ErrorIs(t, s.Restart(), errClosed)
	for _, dir := range s.ownDirs {
		require.NoDirExists(t, dir)
	}
	_, err = net.Dial("tcp", s.Addr())
	require.Error(t, err)
}

func TestWrongDirectiveIsExplained(t *testing.T) {
	_, err := Run(Args("--no-such-directive", "1"))
	require.ErrorContains(t, err, "no-such-directive")
}

func TestTakenPortIsRecognised(t *testing.T) {
	l, err := net.Listen("tcp", host+":0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	s := &Server{dir: t.TempDir()}
	s.port, err = strconv.Atoi(port)
	require.NoError(t, err)

	require.ErrorIs(t, s.launch(), errPortTaken)
}

func TestStrangerOnThePortIsRecognised(t *testing.T) {
	s := Start(t)
	require.NoError(t, s.ping(s.Pid()))
	require.ErrorIs(t, s.ping(s.Pid()+1), errPortTaken)
}

// fatalTB records what Fatal is called with.
type fatalTB struct {
	testing.TB
	said []any
}

func (f *fatalTB) Helper() {}

func (f *fatalTB) Fatal(args ...any) {
	f.said = args
	panic(errors.New("fatal"))
}

func TestWithoutRedisServerTheTestFails(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	tb := &fatalTB{TB: t}

	require.Panics(t, func() { Start(tb) })

	require.Len(t, tb.said, 1)
	require.EqualError(t, tb.said[0].(error), "redis-server is not on PATH, install it first "+
		"(Debian/Ubuntu: apt-get install redis-server; macOS: brew install redis)")
}

func TestRunWithoutRedisServerLeavesNothing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)

	_, err := Run(Unix())
	require.ErrorIs(t, err, errNotInstalled)
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
}
