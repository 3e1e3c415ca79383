package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// told is what the program prints of an act, for messages.
func told(a act, rec *recording) string {
	var out bytes.Buffer
	newPrinter(&out).act(a, rec)
	return out.String()
}

// TestWidth prints what is as long as can be.
func TestWidth(t *testing.T) {
	t.Parallel()
	for _, r := range ladder {
		var out bytes.Buffer
		p := newPrinter(&out)
		p.introduce("an embedded miniredis (set REDIS_URL to use a server)") // the longer of the two
		p.title(r)
		for _, a := range r.acts {
			p.act(a, madeUp(a))
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > width {
				t.Errorf("rung %d: a line of %d characters is too long for a terminal: %q", r.number, len(line), line)
			}
		}
	}
}

// madeUp is a recording in which everybody is inside from the beginning to the end.
func madeUp(a act) *recording {
	rec := newRecording(a.actors)
	rec.tracks = []*track{{server: "redis", looks: []look{
		{at: 0, holder: "anna", ttl: lease}, {at: time.Second, holder: "", ttl: -2}, {at: 2 * time.Second, holder: "bert", ttl: lease},
	}}}
	for _, who := range a.actors {
		rec.say(who, "EVAL GET, DEL", "0", try)
		rec.say(who, "EVAL GET, DEL", "0", try)
		rec.say(who, "Release", "ErrLost: nothing of anybody else's is freed", grave)
		rec.enter(who)
	}
	rec.start = rec.start.Add(-3 * time.Second)
	rec.finish()
	return rec
}

func TestColour(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &printer{out: &out, colour: true}
	a := ladder[3].acts[0]
	p.act(a, madeUp(a))
	for _, want := range []string{"\x1b[31m!", "\x1b[31mFAILS: two at once"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%q", want, &out)
		}
	}
}
