package pubsub

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/hashslot"
)

// maxBatch is the most channels named in one command: enough that 10,000 cost
// little, few enough that Redis is not held up by one command.
const maxBatch = 500

var (
	errSilent     = errors.New("pubsub: no reply to PING")
	errUnanswered = errors.New("pubsub: no reply to SUBSCRIBE or UNSUBSCRIBE")
)

// conn is one connection. Two goroutines use it: the connection loop writes, the reader reads.
type conn struct {
	line   *nodeConn
	ctx    context.Context // ends when the connection is given up
	cancel context.CancelFunc
	ps     *redis.PubSub
	born   time.Time

	// The connection loop's own.
	outbox    []*batch      // not sent yet, in order
	started   bool          // whether there is a reader
	confirmed bool          // whether all channels taken over from before were confirmed
	asked     time.Duration // age when the last batch was sent
	pinged    time.Duration // age when the last PING was sent

	flight []*batch // sent and not answered completely, in order; guarded by Hub.mu

	// Answers still to come to what is in flight; the connection loop sets it, the reader counts
	// down.
	awaited atomic.Int32
	heard   atomic.Int64 // age when something last arrived; set by the reader
	pings   atomic.Int32 // PINGs without an answer

	ended chan struct{} // closed by the reader when it ends
	err   error         // why the reader ended; written before ended is closed
}

// batch is one SUBSCRIBE or UNSUBSCRIBE. In a cluster it is one SSUBSCRIBE or SUNSUBSCRIBE, whose
// channels must be in one slot.
type batch struct {
	command   func(ps *redis.PubSub, ctx context.Context, channels ...string) error
	subscribe bool
	channels  []string
	slot      int
	left      int // answers still to come: for the last channels
}

// newConn prepares a connection whose first work is w.
func newConn(l *nodeConn, w work) *conn {
	c := &conn{line: l, born: time.Now(), ended: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(l.hub.ctx)
	l.hub.mu.Lock()
	source := l.source
	l.hub.mu.Unlock()
	c.ps = source.Subscribe(c.ctx)
	c.queue(w)
	return c
}

// queue adds w to the outbox, subscriptions first: a listener waits for them.
func (c *conn) queue(w work) {
	if c.line.sharded() {
		c.add(batch{command: (*redis.PubSub).SSubscribe, subscribe: true}, bySlot(w.subscribe))
		c.add(batch{command: (*redis.PubSub).SUnsubscribe}, bySlot(w.unsubscribe))
	} else {
		c.add(batch{command: (*redis.PubSub).Subscribe, subscribe: true}, [][]string{w.subscribe})
		c.add(batch{command: (*redis.PubSub).Unsubscribe}, [][]string{w.unsubscribe})
	}
}

func (c *conn) add(like batch, groups [][]string) {
	for _, group := range groups {
		for channels := range slices.Chunk(group, maxBatch) {
			b := like
			b.channels, b.slot, b.left = channels, hashslot.Of(channels[0]), len(channels)
			c.outbox = append(c.outbox, &b)
		}
	}
}

// bySlot groups channels by slot. Within a slot they keep their order.
func bySlot(channels []string) (groups [][]string) {
	index := make(map[int]int)
	for _, channel := range channels {
		slot := hashslot.Of(channel)
		i, known := index[slot]
		if !known {
			i = len(groups)
			index[slot] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], channel)
	}
	return groups
}

// upToDate reports whether everything was sent and answered.
func (c *conn) upToDate() bool { return len(c.outbox) == 0 && c.awaited.Load() == 0 }

// open dials, sends the first batch and starts the reader, which would dial as well if it were
// started earlier. Dialing and the handshake have the limits of the client; PingTimeout would be too
// short for a slow TLS handshake. The batch needs no limit of its own, since nothing can be ahead of
// it in a new socket.
func (c *conn) open() error {
	flight := c.take()
	if err := flight[0].command(c.ps, c.ctx, flight[0].channels...); err != nil {
		return err
	}
	c.asked = c.age() // dialing took its time
	c.heard.Store(int64(c.asked))
	c.started = true
	go c.read()
	return c.writeAll(flight[1:])
}

// send writes the next batches if there are any and the last ones were answered. This rule has three
// reasons. A channel has at most one command without an answer, so its state is simple. Batches are
// large when there is much to do. And it avoids a deadlock:
//
//  1. A peer reads nothing before it has written its answers.
//  2. go-redis holds one mutex for each write, and takes it before each read. A write that the peer
//     does not read holds it.
//  3. So nothing reads the answers, and the peer never gets rid of them.
func (c *conn) send() error {
	if len(c.outbox) == 0 || c.awaited.Load() > 0 {
		return nil
	}
	return c.writeAll(c.take())
}

func (c *conn) writeAll(flight []*batch) error {
	for _, b := range flight {
		err := c.write(func(ctx context.Context) error { return b.command(c.ps, ctx, b.channels...) })
		if err != nil {
			return err
		}
	}
	return nil
}

// take puts the next batches into flight: one, or in a cluster, whose batches may be small, as many
// as have maxBatch channels together. Their answers are awaited from here on, because they may come
// before the write has returned.
func (c *conn) take() []*batch {
	n, channels := 1, len(c.outbox[0].channels)
	for c.line.sharded() && n < len(c.outbox) && channels+len(c.outbox[n].channels) <= maxBatch {
		channels += len(c.outbox[n].channels)
		n++
	}
	flight := c.outbox[:n:n]
	c.outbox = c.outbox[n:]
	h := c.line.hub
	h.mu.Lock()
	c.flight = flight
	h.mu.Unlock()
	c.awaited.Store(int32(channels))
	c.asked = c.age()
	return flight
}

// write limits one command to PingTimeout. A stalled write holds the mutex of the PubSub, so only a
// deadline ends it: PubSub.Close would wait for that mutex.
func (c *conn) write(command func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.ctx, c.line.hub.cfg.PingTimeout)
	defer cancel()
	return command(ctx)
}

// keepalive sends a PING if the connection has been silent for long enough. It returns when it must
// be called again, or an error if the silence lasted. It also returns an error if other things arrive
// but no answer to the last batch does: nothing more would ever be sent.
func (c *conn) keepalive() (next time.Time, err error) {
	cfg, heard, now := &c.line.hub.cfg, time.Duration(c.heard.Load()), c.age()
	due := heard + cfg.PingInterval
	if c.pinged > heard {
		if due = c.pinged + cfg.PingTimeout; now >= due {
			return next, errSilent
		}
	} else if now >= due {
		c.pinged = now // before the write, which may take a while
		c.pings.Add(1)
		if err := c.write(func(ctx context.Context) error { return c.ps.Ping(ctx) }); err != nil {
			return next, err
		}
		// The reader does not wake the connection loop for the answer, so the next PING may be due
		// before the deadline of this one.
		due = c.pinged + min(cfg.PingInterval, cfg.PingTimeout)
	}
	if c.awaited.Load() > 0 {
		limit := c.asked + cfg.PingInterval + cfg.PingTimeout
		if now >= limit {
			return next, errUnanswered
		}
		due = min(due, limit)
	}
	return c.born.Add(due), nil
}

// age counts on the monotonic clock.
func (c *conn) age() time.Duration { return time.Since(c.born) }

// close gives the connection up and waits for the reader. PubSub.Close waits for the PubSub's mutex,
// which the reader holds while go-redis reconnects within Receive. So close ends ctx first, which
// cuts the dialing short; the client's own timeouts limit the rest. To open the next connection
// without waiting would gain nothing, since it has the same address to dial.
func (c *conn) close() {
	c.cancel()
	_ = c.ps.Close() // nothing can be done about an error
	if c.started {
		<-c.ended
	}
}
