package tree

import (
	"runtime"
	"sync"

	"github.com/actorlock/actorlock/internal/warm"
	"github.com/asynkron/protoactor-go/actor"
)

// Direct is a message that its receiver may handle in the goroutine that sends
// it, when it has nothing else to do: a change of goroutines costs more than
// most messages do. Whoever sends one holds no lock that the receiver, or one
// that it sends a Direct message to in turn, might ask for.
type Direct interface{ Direct() bool }

const (
	// lent is how many messages a sender's goroutine handles at most before a
	// goroutine of the pool goes on.
	lent = 8
	// throughput is how many are handled before others get a chance.
	throughput = 300
)

// mailbox is the queue of an actor's messages: system messages first, otherwise
// in order. It takes a quarter of the memory of the framework's own and lets
// senders handle what they send.
type mailbox struct {
	pool    *warm.Pool
	invoker actor.MessageInvoker

	mu           sync.Mutex
	system, user fifo
	running      bool
	suspended    bool // after a failure, until the parent has decided
}

func newMailbox(pool *warm.Pool) actor.MailboxProducer {
	return func() actor.Mailbox { return &mailbox{pool: pool} }
}

// RegisterHandlers implements actor.Mailbox.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.invoker = invoker
}

// Start implements actor.Mailbox.
func (m *mailbox) Start() {}

// UserMessageCount implements actor.Mailbox.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user.len()
}

// PostUserMessage implements actor.Mailbox.
func (m *mailbox) PostUserMessage(msg any) {
	d, ok := msg.(Direct)
	here := ok && d.Direct() // first: a panic in there leaves nothing undone
	if m.post(&m.user, msg) {
		m.begin(here)
	}
}

// PostSystemMessage implements actor.Mailbox.
func (m *mailbox) PostSystemMessage(msg any) {
	_, started := msg.(*actor.Started)
	if m.post(&m.system, msg) {
		m.begin(started)
	}
}

// post queues msg, and reports whether it is up to the sender to have it handled.
func (m *mailbox) post(q *fifo, msg any) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	q.push(msg)
	if m.running || (m.suspended && q == &m.user) {
		return false
	}
	m.running = true
	return true
}

func (m *mailbox) begin(here bool) {
	if here {
		m.work(lent)
		return
	}
	m.pool.Go(m)
}

// Run implements warm.Runner.
func (m *mailbox) Run() { m.work(0) }

// work handles messages until there are none. With a limit, it leaves what is
// more to a goroutine of the pool.
func (m *mailbox) work(limit int) {
	for n := 1; ; n++ {
		msg, system, ok := m.next()
		switch {
		case !ok:
			return
		case system:
			m.handleSystem(msg)
		default:
			m.handle(msg)
		}
		if n == limit {
			if m.more() {
				m.pool.Go(m)
			}
			return
		}
		if n%throughput == 0 {
			runtime.Gosched()
		}
	}
}

// next takes the next message; when there is none the mailbox is at rest.
func (m *mailbox) next() (msg any, system, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.system.len() > 0:
		return m.system.pop(), true, true
	case m.user.len() > 0 && !m.suspended:
		return m.user.pop(), false, true
	}
	m.running = false
	return nil, false, false
}

// more reports whether messages are left; when there are none the mailbox is at
// rest.
func (m *mailbox) more() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = m.system.len() > 0 || (m.user.len() > 0 && !m.suspended)
	return m.running
}

func (m *mailbox) handle(msg any) {
	defer m.escalate(msg)
	m.invoker.InvokeUserMessage(msg)
}

func (m *mailbox) handleSystem(msg any) {
	defer m.escalate(msg)
	switch msg.(type) {
	case *actor.SuspendMailbox:
		m.suspend(true)
	case *actor.ResumeMailbox:
		m.suspend(false)
	default:
		m.invoker.InvokeSystemMessage(msg)
	}
}

func (m *mailbox) suspend(suspended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suspended = suspended
}

// escalate is deferred: a panic is the parent's business.
func (m *mailbox) escalate(msg any) {
	if reason := recover(); reason != nil {
		m.invoker.EscalateFailure(reason, msg)
	}
}

// fifo is a queue. The zero value is empty.
type fifo struct {
	items []any
	first int
}

func (q *fifo) len() int { return len(q.items) - q.first }

func (q *fifo) push(msg any) {
	if len(q.items) == cap(q.items) && q.first > len(q.items)/2 {
		n := copy(q.items, q.items[q.first:])
		clear(q.items[n:])
		q.items, q.first = q.items[:n], 0
	}
	q.items = append(q.items, msg)
}

// keepItems is how much room an empty queue keeps.
const keepItems = 64

func (q *fifo) pop() any {
	msg := q.items[q.first]
	q.items[q.first] = nil
	q.first++
	if q.first == len(q.items) {
		q.items, q.first = q.items[:0], 0
		if cap(q.items) > keepItems {
			q.items = nil
		}
	}
	return msg
}
