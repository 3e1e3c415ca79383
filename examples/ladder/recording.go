package main

import (
	"slices"
	"sync"
	"time"
)

// recording is what was seen of an act. While the act is played it is written by many
// goroutines; afterwards it is only read.
type recording struct {
	start time.Time
	slow  int // so many times slower than it is written

	mu       sync.Mutex
	length   time.Duration
	actors   []string
	owner    map[string]string // of actors that are one process: who they are
	events   []event
	sections []section
	tracks   []*track
	facts    map[string]int
	stall    time.Duration // the longest time for which this process did not get to look
}

// event is something that an actor did, at the time when it was known to be done.
type event struct {
	at     time.Duration
	who    string
	what   string
	came   string // of it
	effect effect
}

// effect is what an event did to the lock.
type effect int

const (
	none    effect = iota
	try            // asked in vain; there are many of them, shown as one
	took           // the key was set for this actor
	freed          // the key was removed, and it was this actor's
	removed        // the key was removed, whosever it was
	grave          // the turning point of a story
)

// section is a stay inside: what the lock is to keep apart.
type section struct {
	who      string
	from, to time.Duration
}

func newRecording(actors []string) *recording {
	return &recording{start: time.Now(), slow: 1, actors: actors, owner: map[string]string{}, facts: map[string]int{}}
}

// t is a time of the scenario, at the speed of this recording.
func (r *recording) t(d time.Duration) time.Duration { return d * time.Duration(max(r.slow, 1)) }

func (r *recording) now() time.Duration { return time.Since(r.start) }

// say records an event that ends now.
func (r *recording) say(who, what, came string, e effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event{at: r.now(), who: who, what: what, came: came, effect: e})
}

// enter records that an actor goes inside.
func (r *recording) enter(who string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sections = append(r.sections, section{who: who, from: r.now(), to: -1})
}

// leave records that an actor is not inside any more.
func (r *recording) leave(who string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.sections) - 1; i >= 0; i-- {
		if s := &r.sections[i]; s.who == who && s.to < 0 {
			s.to = r.now()
			return
		}
	}
}

// fact records a number that an actor found out.
func (r *recording) fact(name string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.facts[name] = n
}

// finish ends the recording. Whoever is inside is so to the end.
func (r *recording) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.length = r.now()
	for i := range r.sections {
		if s := &r.sections[i]; s.to < 0 {
			s.to = r.length
		}
	}
	slices.SortStableFunc(r.events, func(a, b event) int { return int(a.at - b.at) })
}

// ownerOf is the process that an actor belongs to.
func (r *recording) ownerOf(who string) string {
	if owner, ok := r.owner[who]; ok {
		return owner
	}
	return who
}
