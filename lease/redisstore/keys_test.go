package redisstore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/actorlock/actorlock/internal/redistest"
)

func TestCRC16(t *testing.T) {
	require.EqualValues(t, 0x31c3, crc16("123456789"), "the check value of CRC16/XMODEM")
}

func TestNamesBeside(t *testing.T) {
	for key, fence := range map[string]string{
		"plain":  "{plain}:actorlock-Fence",
		"{a}b":   "{a}b:actorlock-fence",
		"x{a}{b": "x{a}{b:actorlock-fence",
		"a{b":    "{a{b}:actorlock-Fence",
	} {
		require.Equal(t, fence, fenceKey(key))
	}
	for _, key := range []string{"a}b", "{}x", "}{", "}"} {
		require.Regexp(t, `^\{[0-9a-z]+\}:actorlock-fence:`, fenceKey(key))
	}
	require.NotEqual(t, fenceKey("foo"), fenceKey("{foo}"))
	require.NotEqual(t, markKey("foo"), markKey("{foo}"))
}

func TestEverySlotHasATag(t *testing.T) {
	for slot, tag := range slotTags() {
		require.NotEmpty(t, tag)
		require.LessOrEqual(t, len(tag), 4)
		require.EqualValues(t, slot, slotOf(tag))
	}
}

// randomKeys are keys of all that is difficult about keys.
func randomKeys(n int) []string {
	letters := []byte("ab{}:\x00\xff")
	keys := make([]string, n)
	for i := range keys {
		key := make([]byte, 1+rand.IntN(9))
		for j := range key {
			key[j] = letters[rand.IntN(len(letters))]
		}
		keys[i] = string(key)
	}
	return keys
}

func TestNamesShareTheSlotAndNeverCollide(t *testing.T) {
	owner := map[string]string{}
	for _, key := range randomKeys(20000) {
		for _, name := range []string{fenceKey(key), markKey(key)} {
			require.Equal(t, slotOf(key), slotOf(name), "%q: %q", key, name)
			if other, ok := owner[name]; ok {
				require.Equal(t, other, key, "they share %q", name)
			}
			owner[name] = key
		}
	}
}

// The server's word on slots, and two-key scripts that it accepts.
func TestNamesOnAClusterServer(t *testing.T) {
	server := startCluster(t)
	c := server.Client(t)
	for range 8 {
		pipe := c.Pipeline()
		keys := randomKeys(500)
		slots := make([]*redis.IntCmd, len(keys))
		scripts := make([]*redis.Cmd, len(keys))
		for i, key := range keys {
			slots[i] = pipe.ClusterKeySlot(t.Context(), key)
			scripts[i] = pipe.Eval(t.Context(), "return redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3])",
				[]string{key, fenceKey(key), markKey(key)})
		}
		_, err := pipe.Exec(t.Context())
		require.NoError(t, err)
		for i, key := range keys {
			require.EqualValues(t, slots[i].Val(), slotOf(key), "%q", key)
			require.NoError(t, scripts[i].Err(), "%q", key)
		}
	}
}

// startCluster runs a cluster of one server.
func startCluster(t *testing.T) *redistest.Server {
	server := redistest.Start(t, redistest.Args("--cluster-enabled", "yes"))
	c := server.Client(t)
	require.NoError(t, c.ClusterAddSlotsRange(t.Context(), 0, slots-1).Err())
	eventually(t, func() bool {
		info := c.ClusterInfo(t.Context()).Val()
		return len(info) > 16 && info[:16] == "cluster_state:ok"
	}, fmt.Sprint("the cluster is up: ", server.Addr()))
	return server
}
