package lease

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// maxHolder bounds the holder id that is taken from a value found in a store:
// such a value is anybody's and may be of any length.
const maxHolder = 256

// NewValue makes the value of one acquisition, "<node>/<random hex>" with 128
// bits from crypto/rand. All attempts of one acquisition carry the same value.
func NewValue(node string) string { return node + "/" + NewID() }

// NewID returns 128 random bits in hex.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process first
	return hex.EncodeToString(b[:])
}

// Holder is the node id in a lock value: what precedes the last "/", cut to
// 256 bytes, and empty when there is no "/".
func Holder(value string) string {
	i := strings.LastIndexByte(value, '/')
	return value[:min(max(i, 0), maxHolder)]
}
