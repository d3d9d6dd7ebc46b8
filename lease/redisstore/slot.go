package redisstore

import (
	"strconv"
	"strings"
	"sync"
)

// slots is how many hash slots a cluster has.
const slots = 16384

// crc16 is the checksum that clusters hash keys with: CRC16/XMODEM.
func crc16(s string) uint16 {
	var sum uint16
	for i := range len(s) {
		sum ^= uint16(s[i]) << 8
		for range 8 {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}

// hashTag is the part of a key between its first "{" and the first "}" after
// it, empty when there is none: a cluster hashes that part alone.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, found := strings.Cut(rest, "}")
	if !found {
		return ""
	}
	return tag
}

// slotOf is the hash slot of a key.
func slotOf(key string) uint16 {
	if tag := hashTag(key); tag != "" {
		key = tag
	}
	return crc16(key) % slots
}

// slotTags maps every slot to a short tag that hashes to it. It is found by
// brute force, which takes some milliseconds, when it is first needed: for a
// key that cannot be wrapped in braces.
var slotTags = sync.OnceValue(func() *[slots]string {
	var tags [slots]string
	for n, missing := 0, slots; missing > 0; n++ {
		tag := strconv.FormatInt(int64(n), 36)
		if at := crc16(tag) % slots; tags[at] == "" {
			tags[at] = tag
			missing--
		}
	}
	return &tags
})
