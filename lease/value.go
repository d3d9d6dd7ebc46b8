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
func NewValue(node string) string {
	id := newID()
	var room [128]byte
	value := append(append(room[:0], node...), '/')
	return string(append(value, id[:]...))
}

// NewID returns 128 random bits in hex.
func NewID() string {
	id := newID()
	return string(id[:])
}

func newID() (id [32]byte) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process first
	hex.Encode(id[:], b[:])
	return id
}

// Holder is the node id in a lock value: what precedes the last "/", cut to
// 256 bytes, and empty when there is no "/".
func Holder(value string) string {
	i := strings.LastIndexByte(value, '/')
	return value[:min(max(i, 0), maxHolder)]
}
