//go:build race

package registry

// raced: the race detector makes everything ten times slower.
const raced = true
