package redistest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const setAndGet = `redis.call("set", KEYS[1], "1") return redis.call("get", KEYS[1])`

func TestCalls(t *testing.T) {
	s := Start(t, Password("secret"))
	c := s.Client(t)
	require.NoError(t, c.Ping(t.Context()).Err())

	s.ResetCalls(t)
	for range 3 {
		require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	}
	require.NoError(t, c.Eval(t.Context(), setAndGet, []string{"k"}).Err())
	require.NoError(t, c.ConfigGet(t.Context(), "port").Err())

	calls := s.Calls(t)
	require.Equal(t, 4, calls["set"], "the script's is included")
	require.Equal(t, 1, calls["get"])
	require.Equal(t, 1, calls["eval"])
	require.Equal(t, 1, calls["config|get"])
	require.Zero(t, calls["ping"])

	before := s.Commands(t)
	require.NoError(t, c.Ping(t.Context()).Err())
	require.Equal(t, 1+2, s.Commands(t)-before, "the package's own AUTH and INFO are included")

	s.ResetCalls(t)
	require.Zero(t, s.Calls(t)["set"])
}

func TestMonitor(t *testing.T) {
	s := Start(t, Password("secret"))
	c := s.Client(t)
	require.NoError(t, c.Ping(t.Context()).Err())
	m, second := s.Monitor(t), s.Monitor(t)

	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	require.Len(t, m.Lines(), 1)
	require.Contains(t, m.Lines()[0], `"set" "k" "v"`)

	require.NoError(t, c.Eval(t.Context(), setAndGet, []string{"lua"}).Err())
	require.Len(t, m.Lines(), 4)
	require.Len(t, m.ClientLines(), 2)
	require.Contains(t, m.ClientLines()[1], `"eval"`)

	s.Calls(t)
	require.Len(t, m.Lines(), 4, "the package itself is left out")

	m.Stop()
	require.NoError(t, c.Ping(t.Context()).Err())
	require.Len(t, m.Lines(), 4, "stopped")
	require.Contains(t, strings.Join(second.Lines(), "\n"), `"ping"`)
}

func TestMonitorOutlivesItsServer(t *testing.T) {
	s := Start(t)
	c := s.Client(t)
	require.NoError(t, c.Ping(t.Context()).Err())
	m := s.Monitor(t)
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	require.Len(t, m.Lines(), 1)

	require.NoError(t, s.Kill())
	require.Len(t, m.Lines(), 1)
	require.NoError(t, s.Restart())
	<-m.done
	m.Stop()
}
