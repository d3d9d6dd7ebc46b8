// Package torture puts actorlock under fire with real parts: worker processes, a
// redis-server, and a proxy between each worker and the server. Its tests stop,
// kill and cut all of them, by a seeded schedule, while the workers' critical
// sections read and write registers that check fencing tokens; afterwards they
// check the histories.
//
//	go test -race .                         # what CI runs
//	go test . -for 30m -timeout 1h -seed 7  # the long one; make torture MINUTES=30
//	go test . -run Torture -rounds 1 -seed 12   # a round again
//
// How a check knows that a lock was live: a worker takes the time, then looks at
// its lock's context, and reports the time if the context had not ended. All
// processes of a machine share one monotonic clock, so such a time is a proof.
// Two locks of a key with proofs that overlap were live at once.
package torture
