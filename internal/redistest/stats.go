package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Calls returns how often each command has run since the server started or
// ResetCalls was called, by its name in lower case; subcommands read
// "config|get". The figures are those of INFO commandstats: commands that a
// script calls are included next to the script itself, those that were refused
// before they ran are not, and the package's own commands (info,
// config|resetstat, auth, ping, echo) are in there as well.
func (s *Server) Calls(t testing.TB) map[string]int {
	t.Helper()
	info, err := s.ask(cmdInfo, "commandstats")
	if err != nil {
		t.Fatalf("redistest: reading the command counters: %v", err)
	}
	calls, err := parseCalls(info)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// ResetCalls sets every counter behind Calls and Commands to zero.
func (s *Server) ResetCalls(t testing.TB) {
	t.Helper()
	if _, err := s.ask(cmdConfig, "RESETSTAT"); err != nil {
		t.Fatalf("redistest: resetting the command counters: %v", err)
	}
}

// parseCalls reads lines like "cmdstat_config|get:calls=2,usec=9,...".
func parseCalls(info string) (map[string]int, error) {
	calls := make(map[string]int)
	for line := range strings.SplitSeq(info, "\r\n") {
		line, found := strings.CutPrefix(line, "cmdstat_")
		if !found {
			continue
		}
		name, figures, _ := strings.Cut(line, ":calls=")
		count, _, _ := strings.Cut(figures, ",")
		n, err := strconv.Atoi(count)
		if err != nil {
			return nil, fmt.Errorf("redistest: cannot read %q: %w", line, err)
		}
		calls[name] = n
	}
	return calls, nil
}

// Commands returns how many commands have run in all: total_commands_processed
// of INFO stats, with the same additions as Calls. Monitor.ClientLines tells
// what clients alone have sent.
func (s *Server) Commands(t testing.TB) int {
	t.Helper()
	info, err := s.ask(cmdInfo, "stats")
	if err != nil {
		t.Fatalf("redistest: reading the command counter: %v", err)
	}
	_, rest, _ := strings.Cut(info, "total_commands_processed:")
	count, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.Atoi(count)
	if err != nil {
		t.Fatalf("redistest: cannot read the command counter %q: %v", count, err)
	}
	return n
}
