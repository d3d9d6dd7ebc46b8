// Package lockowner holds the actor that owns one key on this node. It queues
// the node's callers, spends their budgets of attempts, holds the lease for
// whoever's turn it is, and is the only place where a lock's context is ended.
//
//	           Acquire            taken
//	  idle ----------> acquiring -------> held <-----------+
//	   ^                ^  |               | |             | passed on
//	   |          due,  |  | not taken     | | Release,    |
//	   |       wake-up  |  v               | | others wait |
//	   |               waiting             | +---------> passing
//	   |                ^  |               | Release       | not possible
//	   | nobody waits   |  | all gave up   v               |
//	   +----------------+--+---------- releasing <---------+
//
//	passing: what the hand-over needs of the store is on its way; or the queue is
//	empty, and who was served a moment ago gets to run, and may come again.
//	lost: from held, at once back to waiting (or idle).
//	closed: from any state at shutdown; the lease is surrendered to the parent.
//
// At most one command of its own is in flight for the key. What is done outside
// Receive, commands above all, comes back as a message.
package lockowner
