package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/actorlock/actorlock/bench/internal/report"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTwoScenarios(t *testing.T) {
	dir := t.TempDir()
	var out, log bytes.Buffer
	err := run(t.Context(), []string{"-quick", "-rounds", "2", "-run", "^(serial|reentry)$", "-json", "-", "-svg", dir}, &out, &log)
	require.NoError(t, err, log.String())

	var r report.Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.False(t, r.Failed())
	require.NotEmpty(t, r.Machine.Redis)
	require.Len(t, r.Scenarios, 2)

	serial, found := r.Find("serial")
	require.True(t, found)
	require.Equal(t, 2, serial.Rounds)
	var names []string
	for _, c := range serial.Candidates {
		names = append(names, c.Name)
		pairs, found := c.Metric("pairs")
		require.True(t, found, c.Name)
		require.Positive(t, pairs.Median, c.Name)
		require.Positive(t, pairs.Ratio, c.Name)
		require.Len(t, pairs.Rounds, 2, c.Name)
		for _, name := range []string{"p50", "p99", "client CPU", "server CPU", "allocs"} {
			m, found := c.Metric(name)
			require.True(t, found, "%s: %s", c.Name, name)
			require.Positive(t, m.Median, "%s: %s", c.Name, name)
		}
	}
	require.Equal(t, []string{"plain", "redsync", "redislock", "actorlock", "actorlock unfenced"}, names)
	base, _ := serial.Candidates[0].Metric("pairs")
	require.InDelta(t, 1, float64(base.Ratio), 1e-9)

	reentry, found := r.Find("reentry")
	require.True(t, found)
	ns, found := reentry.Candidates[0].Metric("ns")
	require.True(t, found)
	require.Positive(t, ns.Median)

	require.Contains(t, log.String(), "serial", "the progress, and the table")
	require.FileExists(t, filepath.Join(dir, "throughput.svg"))
	require.NoFileExists(t, filepath.Join(dir, "hotkey.svg"), "was not measured")
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{{"-run", "("}, {"-run", "no such scenario"}, {"-rounds", "-1"}, {"stray"}} {
		var out, log bytes.Buffer
		require.Error(t, run(t.Context(), args, &out, &log), "%q", args)
		require.Empty(t, out.String())
	}
}

func TestList(t *testing.T) {
	var out, log bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-list", "-run", "^held/"}, &out, &log))
	require.Contains(t, out.String(), "held/100000")
	require.NotContains(t, out.String(), "serial")
}
