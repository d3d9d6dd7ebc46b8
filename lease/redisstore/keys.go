package redisstore

import "strings"

// fenceKey is where the fencing tokens of a lock key are stored.
func fenceKey(key string) string { return beside(key, "fence", "Fence") }

// markKey is where a node that waits for a lock key leaves its mark.
func markKey(key string) string { return beside(key, "wait", "Wait") }

// channelOf is where the release of a lock key is published. Channels are no
// keys: they have no slot, and the name needs no tag.
func channelOf(key string) string { return channelPrefix + key }

const channelPrefix = "actorlock:wake:"

// beside names a second key in the slot of key. The suffix of a wrapped key
// differs from that of a tagged one: "foo" and "{foo}" would share it
// otherwise.
func beside(key, tagged, wrapped string) string {
	switch {
	case hashTag(key) != "":
		return key + ":actorlock-" + tagged
	case !strings.Contains(key, "}"):
		return "{" + key + "}:actorlock-" + wrapped
	default: // the key's own "}" would end the tag early
		return "{" + slotTags()[crc16(key)%slots] + "}:actorlock-" + tagged + ":" + key
	}
}
