package main

import (
	"context"
	"fmt"
	"time"
)

// The times are scaled down: people write leases of 10 to 60 s.
const (
	lease = 300 * time.Millisecond
	work  = 80 * time.Millisecond // the work that the lock is for
	retry = 20 * time.Millisecond // between two tries of those who wait by trying again
)

// rung is one lock that people write, and what becomes of it.
type rung struct {
	number int
	slug   string // in the picture's name
	title  string
	mends  string // what it has that the rung before has not
	acts   []act  // the home-made ones first
}

func (r rung) picture() string { return fmt.Sprintf("%d-%s.svg", r.number, r.slug) }

// act is a scenario played with one lock.
type act struct {
	who    string   // whose lock it is
	code   []string // its idea
	actors []string // in the order in which they are shown
	chain  string   // the process whose call chain the actors are; empty: each is a process
	lease  time.Duration
	play   func(context.Context, *stage) error
	judge  func(*recording) verdict
}

// verdict is what came of an act. It is made from the recording and nothing else.
type verdict struct {
	failure string // empty if the lock did what it is for
	text    string
}

func (v verdict) String() string {
	if v.failure == "" {
		return "holds. " + v.text
	}
	return "FAILS: " + v.failure + ". " + v.text
}

const (
	homeMade = "home-made"
	redlatch = "Redlatch"
)

// What can go wrong, as the verdicts name it.
const (
	neverExpires = "never expires"
	freesAnother = "frees somebody else's lock"
	twoAtOnce    = "two at once"
	deadlock     = "deadlocks itself"
	wasteful     = "wasteful"
	late         = "late"
)

// ladder is filled by the files rung1.go to rung7.go.
var ladder = []rung{rung1, rung2, rung3, rung4, rung5, rung6, rung7}
