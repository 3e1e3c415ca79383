package redlatchotel

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redlatch/redlatch/reentrant"
)

// clients are the Clients whose figures are reported. Clients of the same name make one series: an observer of a
// second one would overwrite the first.
type clients struct {
	once        sync.Once
	err         error // of the instruments
	instruments instruments

	mu     sync.Mutex
	byName map[string]*sum // guarded by mu
}

// sum is what the Clients of one name have done.
type sum struct {
	clients map[*reentrant.Client]int // how often each is observed
	gone    reentrant.Stats           // of those that are not observed any more: counters do not fall
}

// instruments are those that the callback observes.
type instruments struct {
	holds, waiters    metric.Int64ObservableUpDownCounter
	renewals, wakeups metric.Int64ObservableCounter
}

// Observe reports, at each collection, what client holds and has done ([reentrant.Client.Stats]), until stop is
// called. Name becomes the attribute redlatch.client.name, and should be that of reentrant.WithClientName; empty, there
// is no such attribute. Clients of one name are added up. A Client is kept in memory until stop is called.
//
// The error is that of the MeterProvider.
func (t *Telemetry) Observe(client *reentrant.Client, name string) (stop func(), err error) {
	c := &t.clients
	c.once.Do(func() { c.err = c.register(t.meter) })
	if c.err != nil {
		return nil, c.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byName[name]
	if s == nil {
		s = &sum{clients: make(map[*reentrant.Client]int)}
		c.byName[name] = s
	}
	s.clients[client]++
	return sync.OnceFunc(func() { c.forget(s, client) }), nil
}

// register makes the instruments, and the callback that observes them.
func (c *clients) register(meter metric.Meter) error {
	c.byName = make(map[string]*sum)
	i, errs := &c.instruments, [5]error{}
	i.holds, errs[0] = meter.Int64ObservableUpDownCounter("redlatch.hold.active", metric.WithUnit("{hold}"),
		metric.WithDescription("Locks held now."))
	i.waiters, errs[1] = meter.Int64ObservableUpDownCounter("redlatch.waiter.active", metric.WithUnit("{call}"),
		metric.WithDescription("Calls that wait for a lock now."))
	i.renewals, errs[2] = meter.Int64ObservableCounter("redlatch.renewals", metric.WithUnit("{renewal}"),
		metric.WithDescription("Renewals of leases."))
	i.wakeups, errs[3] = meter.Int64ObservableCounter("redlatch.wakeups", metric.WithUnit("{wakeup}"),
		metric.WithDescription("Reasons for which waiting calls tried again."))
	if err := errors.Join(errs[:4]...); err != nil {
		return err
	}
	_, errs[4] = meter.RegisterCallback(c.observe, i.holds, i.waiters, i.renewals, i.wakeups)
	return errs[4]
}

// forget ends the observation of a Client, and keeps what it has done.
func (c *clients) forget(s *sum, client *reentrant.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.clients[client]--; s.clients[client] > 0 {
		return
	}
	delete(s.clients, client)
	done := client.Stats()
	done.Held, done.Waiting = 0, 0
	s.gone = plus(s.gone, done)
}

func (c *clients) observe(_ context.Context, o metric.Observer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, s := range c.byName {
		total := s.gone
		for client := range s.clients {
			total = plus(total, client.Stats())
		}
		var attrs []attribute.KeyValue
		if name != "" {
			attrs = append(attrs, keyClient.String(name))
		}
		c.instruments.report(o, total, attrs)
	}
	return nil
}

// report observes one series of each instrument. Each has its zero, from which Prometheus sees an increase.
func (i *instruments) report(o metric.Observer, s reentrant.Stats, client []attribute.KeyValue) {
	with := func(more ...attribute.KeyValue) metric.ObserveOption {
		return metric.WithAttributes(append(client[:len(client):len(client)], more...)...)
	}
	o.ObserveInt64(i.holds, int64(s.Held), with())
	o.ObserveInt64(i.waiters, int64(s.Waiting), with())
	o.ObserveInt64(i.renewals, int64(s.Renewals), with())
	o.ObserveInt64(i.renewals, int64(s.RenewFailures), with(keyError.String(ofRedis)))
	for how, n := range map[reentrant.How]uint64{
		reentrant.HowMessage: s.WakeUps.Message, reentrant.HowTTL: s.WakeUps.TTL,
		reentrant.HowPoll: s.WakeUps.Poll, reentrant.HowSubscribed: s.WakeUps.Subscribed,
	} {
		o.ObserveInt64(i.wakeups, int64(n), with(keyCause.String(string(how))))
	}
}

// plus adds the figures that are reported.
func plus(a, b reentrant.Stats) reentrant.Stats {
	a.Held += b.Held
	a.Waiting += b.Waiting
	a.Renewals += b.Renewals
	a.RenewFailures += b.RenewFailures
	a.WakeUps.Message += b.WakeUps.Message
	a.WakeUps.TTL += b.WakeUps.TTL
	a.WakeUps.Poll += b.WakeUps.Poll
	a.WakeUps.Subscribed += b.WakeUps.Subscribed
	return a
}
