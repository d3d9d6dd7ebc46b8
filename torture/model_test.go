package torture

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// checkLimit bounds a check. One that takes longer counts as failed.
const checkLimit = time.Minute

// lockModel: a lock is taken when it is free, and freed by whoever has it.
var lockModel = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, _ any) (bool, any) {
		holder, in := state.(uint64), input.(lockStep)
		if in.free {
			return holder == in.hold, uint64(0)
		}
		return holder == 0, in.hold
	},
}

type lockStep struct {
	hold uint64
	free bool
}

// lockHistory says that each lock was taken between the call and its first proof
// of life, and freed between the last one and the return of the call. Of a
// worker that was killed nothing is known after that last proof.
func lockHistory(sections []*section) (ops []porcupine.Operation) {
	for _, s := range sections {
		ops = append(ops,
			porcupine.Operation{Input: lockStep{hold: s.hold}, Call: s.asked, Return: s.enter},
			porcupine.Operation{Input: lockStep{s.hold, true}, Call: s.last, Return: max(s.last, s.exit)})
	}
	return ops
}

// counterModel: a section that could write is one step, which raises the counter
// it has read; another one only reads.
var counterModel = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		value := state.(uint64)
		if input.(bool) {
			return output.(uint64) == value, value + 1
		}
		return output.(uint64) == value, value
	},
}

func counterHistory(sections []*section) (ops []porcupine.Operation) {
	for _, s := range sections {
		switch {
		case s.writeOK:
			ops = append(ops, porcupine.Operation{Input: true, Output: s.readVal, Call: s.readAt, Return: s.wroteAt})
		case s.readOK:
			ops = append(ops, porcupine.Operation{Input: false, Output: s.readVal, Call: s.readAt, Return: s.readAt})
		}
	}
	return ops
}

func linearizable(m porcupine.Model, ops []porcupine.Operation) bool {
	return porcupine.CheckOperationsTimeout(m, ops, checkLimit) == porcupine.Ok
}
