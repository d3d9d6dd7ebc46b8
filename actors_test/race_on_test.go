//go:build race

package actors_test

// scale divides what is too much with the race detector.
const scale = 10
