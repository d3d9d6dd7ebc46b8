package lease_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/actorlock/actorlock/lease"
)

func TestHolder(t *testing.T) {
	long := strings.Repeat("n", 300)
	tests := map[string]string{
		"":                  "",
		"/":                 "",
		"/abc":              "",
		"node/abc":          "node",
		"node/":             "node",
		"host/1/abc":        "host/1",
		"nobody":            "",
		"a\x00\xff/0":       "a\x00\xff",
		long + "/0":         long[:256],
		long[:256] + "/0":   long[:256],
		long:                "",
		"short/" + long:     "short",
		"9f86d081884c7d65a": "",
	}
	for value, want := range tests {
		assert.Equal(t, want, lease.Holder(value), "%q", value)
	}
}

func TestNewValue(t *testing.T) {
	shape := regexp.MustCompile(`^a/b/[0-9a-f]{32}$`)
	seen := map[string]bool{}
	for range 1000 {
		v := lease.NewValue("a/b")
		assert.Regexp(t, shape, v)
		assert.Equal(t, "a/b", lease.Holder(v))
		assert.False(t, seen[v], "repeated: %s", v)
		seen[v] = true
	}
	assert.Regexp(t, `^/[0-9a-f]{32}$`, lease.NewValue(""))
}

func TestNewID(t *testing.T) {
	assert.Regexp(t, `^[0-9a-f]{32}$`, lease.NewID())
	assert.NotEqual(t, lease.NewID(), lease.NewID())
}

func TestLeaseDeadline(t *testing.T) {
	now := time.Now()
	l := lease.Lease{Key: "k", Node: "n", Token: 7}
	assert.True(t, l.Deadline().IsZero())

	moved := l.WithDeadline(now)
	assert.Equal(t, now, moved.Deadline(), "with its monotonic reading")
	assert.Equal(t, "k", moved.Key)
	assert.Equal(t, uint64(7), moved.Token)
	assert.True(t, l.Deadline().IsZero(), "a lease is a value")
}
