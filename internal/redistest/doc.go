// Package redistest runs real redis-server processes for tests, benchmarks and
// multi-process experiments, and makes them misbehave on demand: pause, kill,
// restart.
//
// Each server has a loopback port and a directory of its own and ends with the
// test (Start) or with Close (Run). On Linux it also dies with the process that
// started it, however that process ends.
//
// A machine without redis-server fails the test; it never skips it.
package redistest
