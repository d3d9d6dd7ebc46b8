// Package simulation runs whole clusters of lock managers in virtual time and
// checks them against the contract while everything goes wrong: the tests of
// this directory are all that it has.
//
// A seed decides on a plan: the managers, their callers and what each of them
// does, and what goes wrong when. The plan is carried out within a bubble of
// testing/synctest, on one in-memory store that the managers share, each behind
// a fault-injecting store of its own. Minutes pass in milliseconds.
//
//	go test ./simulation                                      # as CI does
//	go test ./simulation -run 'TestSimulation$' -seed 12345   # one seed, with its trace
//	make simulate SEEDS=100000                                # the long one
//
// The plan of a seed is always the same. The order in which the goroutines of
// one instant run, and the jitter of the library, are not: a failure that
// depends on them comes back after some repetitions, so add -count 100.
//
// How it is built:
//
//	plan_test.go     what a seed decides
//	world_test.go    carries a plan out
//	caller_test.go   one call: what it does and what it sees
//	node_test.go     a manager: its start, its shutdown, what it leaves behind
//	faults_test.go   what happens to its commands
//	ledger_test.go   the store that all share; knows the truth about each key
//	holds_test.go    checks: exclusion, tokens
//	waits_test.go    checks: order of callers, nobody waits for a free key
//	outcome_test.go  checks: what a call returns, and when
//	checks_test.go   the checks themselves: what is broken on purpose is found
//	report_test.go   violations, the trace, and what a run has covered
package simulation
