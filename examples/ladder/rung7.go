package main

import (
	"fmt"
	"time"
)

var rung7 = rung{
	number: 7, slug: "failover",
	title: "One Redis, and a failover that forgets",
	mends: "waiters that are woken by the release",
	acts: []act{
		{
			who:    homeMade,
			code:   []string{"all of the above, on a primary with a replica that lags"},
			actors: []string{"anna", "bert"},
			lease:  lease,
			play:   failOverHomeMade,
			judge:  judgeFailover,
		},
		{
			who:    redlatch + ", a plain lock with fencing",
			code:   []string{"lock := client.NewLock(name, reentrant.WithFencing())", "UPDATE ... WHERE fence <= $token   // hold.Token()"},
			actors: []string{"anna", "bert"},
			lease:  lease,
			play:   failOverFenced,
			judge:  judgeFailover,
		},
		{
			who:    redlatch + ", with replica acks",
			code:   []string{"reentrant.New(rdb, reentrant.WithReplicaAcks(1, 50*time.Millisecond))"},
			actors: []string{"anna", "bert"},
			lease:  lease,
			play:   failOverAcknowledged,
			judge:  judgeFailover,
		},
		{
			who:    redlatch + ", a quorum of three servers",
			code:   []string{"quorum, err := multilock.NewQuorum(locks...)   // one lock on each of three servers"},
			actors: []string{"anna", "bert"},
			lease:  lease,
			play:   failOverQuorum,
			judge:  judgeFailover,
		},
	},
}

// pair is a primary and the replica that takes its place. In this theatre it is a server
// that has received nothing: a replica that lags by the write that matters.
type pair struct {
	stage             *stage
	primary, promoted *server
}

func (s *stage) pair(primary, promoted string) (p pair, err error) {
	p.stage = s
	if p.primary, err = s.server(primary); err != nil {
		return p, err
	}
	p.promoted, err = s.server(promoted)
	return p, err
}

// fail loses the primary and promotes the replica: the wires lead there from now on, as
// they do when Sentinel has told a client, or DNS has changed.
func (p pair) fail(wires ...*wire) {
	p.primary.track.lose(p.stage.rec.now())
	p.stage.rec.say(p.promoted.track.server, "promoted", "in the place of "+p.primary.track.server, grave)
	for _, w := range wires {
		w.failOver(p.promoted.Options)
	}
}

// judgeFailover asks whether two were inside, and whether the first was told.
func judgeFailover(r *recording) verdict {
	all := r.overlaps()
	his, in := r.stay("bert")
	switch {
	case len(all) > 0 && r.facts["told"] == 0:
		return verdict{twoAtOnce, fmt.Sprintf("%s: two at once for %s ms, and nothing stopped anna.", all[0], ms(all[0].length()))}
	case len(all) > 0:
		v := verdict{twoAtOnce, fmt.Sprintf("%s: two at once for %s ms, until anna was told.", all[0], ms(all[0].length()))}
		if r.facts["refused"] > 0 {
			v.text += " Her write in that time was refused, its token was older than bert's."
		}
		return v
	case r.facts["refused anna"] > 0 && r.facts["refused bert"] > 0:
		return verdict{text: "Never two at once. anna was refused, since no replica had her lock; bert too: without a replica nobody gets it."}
	case !in:
		return verdict{"not served", "bert was never inside."}
	default:
		hers, _ := r.stay("anna")
		return verdict{text: fmt.Sprintf("Never two at once. anna worked on for %s ms after the failover; bert was inside %s ms after she had left.",
			ms(hers.to-r.failover()), ms(his.from-hers.to))}
	}
}

// failover is when a replica was promoted.
func (r *recording) failover() time.Duration {
	for _, e := range r.events {
		if e.what == "promoted" {
			return e.at
		}
	}
	return 0
}
