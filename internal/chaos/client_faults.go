package chaos

import (
	"math/rand/v2"
	"time"

	"github.com/redlatch/redlatch/internal/faultproxy"
)

// clientKinds are the faults of one client. Only one of them is on at a time for each
// client. Most outlast renewals whatever their length: several requests in a row may be hit,
// and go-redis waits for each until it times out.
var clientKinds = []*kind{
	{name: "connections lost", weight: 6, least: 50 * ms, most: 700 * ms, outlasts: true,
		strike: tamper(0.3, scripts, faultproxy.DropBefore, faultproxy.DropAfter, faultproxy.ResetAfter)},
	{name: "replies and requests lost", weight: 5, least: 50 * ms, most: 700 * ms, outlasts: true,
		strike: tamper(0.2, scripts, faultproxy.SwallowReply, faultproxy.SwallowRequest)},
	{name: "slow", weight: 4, least: 100 * ms, most: 700 * ms, outlasts: true,
		strike: tamper(0.5, scripts, faultproxy.Delay(5*ms), faultproxy.Delay(30*ms))},
	{name: "late", weight: 4, least: 100 * ms, most: 700 * ms, outlasts: true,
		strike: tamper(0.1, scripts, faultproxy.Delay(150*ms), faultproxy.Delay(lease+100*ms))},
	{name: "doubled", weight: 4, least: 100 * ms, most: 700 * ms, outlasts: true,
		strike: tamper(0.5, scripts, faultproxy.Duplicate)},
	{name: "everything", weight: 4, least: 100 * ms, most: 700 * ms, outlasts: true,
		strike: tamper(0.1, nil, faultproxy.DropBefore, faultproxy.DropAfter, faultproxy.ResetAfter, faultproxy.SwallowReply,
			faultproxy.SwallowRequest, faultproxy.Duplicate, faultproxy.Delay(20*ms))},
	{name: "kept back", weight: 12, least: 50 * ms, most: 1500 * ms, spares: true, strike: keepBack},
	{name: "requests stopped", weight: 3, least: 50 * ms, most: 1000 * ms, outlasts: true, strike: gate(true, false, faultproxy.Any)},
	{name: "replies stopped", weight: 3, least: 50 * ms, most: 1000 * ms, outlasts: true, strike: gate(false, true, faultproxy.Any)},
	{name: "replies late", weight: 5, least: 100 * ms, most: 900 * ms, outlasts: true, strike: lateReplies},
	{name: "all stopped", weight: 3, least: 50 * ms, most: 1000 * ms, outlasts: true, strike: gate(true, true, faultproxy.Any)},
	{name: "deaf", weight: 3, least: 100 * ms, most: 1000 * ms, spares: true, strike: gate(true, true, faultproxy.PubSub)},
	{name: "cut", weight: 5, least: 1 * ms, most: 2 * ms, outlasts: true, strike: cut},
	{name: "refused", weight: 3, least: 20 * ms, most: 600 * ms, outlasts: true, refuses: true, strike: refuse},
	{name: "client closed", weight: 1, least: 1 * ms, most: 2 * ms, outlasts: true, strike: closeClient},
}

var scripts = faultproxy.Named("EVALSHA", "EVAL")

// tamper does one of the actions to some of the requests.
func tamper(probability float64, match func([]string) bool, actions ...faultproxy.Action) func(*round, strike) {
	return func(r *round, s strike) {
		rule := r.members[s.client].proxy.Chaos(s.seed, probability, match, actions...)
		r.wait(s.lasts)
		rule.Remove()
		r.hits.Add(int64(rule.Hits()))
	}
}

// keepBack has one request run long after its client has given up: when the owner that it
// is for has the lock again, and never if that does not come soon. A release that ran all the
// same would free the lock under it.
func keepBack(r *round, s strike) {
	m := r.members[s.client]
	var seen int
	kept := make(chan []string, 1)
	rule := r.keep(m.proxy, faultproxy.Rule{Times: 1, Action: faultproxy.HoldRequest, Match: func(args []string) bool {
		if !scripts(args) {
			return false
		}
		if seen++; seen <= int(s.seed%5) {
			return false
		}
		select {
		case kept <- args:
		default: // the rule is spent, and asks all the same
		}
		return true
	}})
	began := time.Now()
	var args []string
	select {
	case args = <-kept:
	case <-r.storm.Done():
	case <-time.After(s.lasts):
	}
	for again := m.await(args); time.Since(began) < s.lasts && !again() && r.wait(ms/2); {
	}
	m.await(nil)
	r.releaseOne(rule)
	r.hits.Add(int64(rule.Hits()))
}

func gate(up, down bool, class faultproxy.Class) func(*round, strike) {
	return func(r *round, s strike) {
		proxy := r.members[s.client].proxy
		proxy.Blackhole(up, down, class)
		r.wait(s.lasts)
		proxy.Heal()
	}
}

// lateReplies has replies wait again and again, for less than clients do. What was granted
// is then older than it looks.
func lateReplies(r *round, s strike) {
	proxy := r.members[s.client].proxy
	random := rand.New(rand.NewPCG(s.seed, 0))
	for began := time.Now(); time.Since(began) < s.lasts; {
		proxy.Blackhole(false, true, faultproxy.Any)
		r.wait(between(random, 20*ms, 90*ms))
		proxy.Heal()
		if !r.wait(between(random, 5*ms, 20*ms)) {
			return
		}
	}
}

func cut(r *round, s strike) {
	classes := []faultproxy.Class{faultproxy.Any, faultproxy.Command, faultproxy.PubSub}
	r.members[s.client].proxy.CloseAll(classes[s.seed%3])
}

func refuse(r *round, s strike) {
	proxy := r.members[s.client].proxy
	proxy.Refuse(true)
	proxy.CloseAll(faultproxy.Any)
	r.wait(s.lasts)
	proxy.Refuse(false)
}

// closeClient closes a Client under those who use it, and puts a new one in its place.
func closeClient(r *round, s strike) {
	r.members[s.client].replace(r.tb, time.Duration(s.seed%50)*ms)
}
