package measure

import "runtime"

// Memory is what this process keeps in memory.
type Memory struct {
	Bytes      float64 // live heap and goroutine stacks
	Goroutines float64
}

// MemoryNow collects garbage and looks.
func MemoryNow() Memory {
	// The first collection leaves what finalizers and sync.Pools still hold, and
	// stacks that shrink with the next one.
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Memory{Bytes: float64(m.HeapAlloc + m.StackInuse), Goroutines: float64(runtime.NumGoroutine())}
}

// Since is what was added after before, for each of n.
func (m Memory) Since(before Memory, n int) Memory {
	return Memory{
		Bytes:      (m.Bytes - before.Bytes) / float64(n),
		Goroutines: (m.Goroutines - before.Goroutines) / float64(n),
	}
}

// Allocated is how many objects and bytes this process has allocated so far.
func Allocated() (objects, bytes float64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Mallocs), float64(m.TotalAlloc)
}
