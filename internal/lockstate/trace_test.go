package lockstate

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the traces of TestTraces instead of comparing them")

// TestTraces pins what the State decides and asks of the engine, in small stories. Each file of testdata is
// one. A line is an input, the lines with an arrow below it are what came of it; -update writes them anew.
// script_test.go has the inputs.
func TestTraces(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no traces", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := newScript(t).play(string(text))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			compare(t, path, string(text), got)
		})
	}
}

func compare(t *testing.T, path, want, got string) {
	t.Helper()
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(wants), len(gots)) {
		was, is := "(the end)", "(the end)"
		if i < len(wants) {
			was = wants[i]
		}
		if i < len(gots) {
			is = gots[i]
		}
		if was != is {
			t.Fatalf("%s:%d was\n%s\nand is\n%s\n\nThe whole trace, which -update writes:\n%s", path, i+1, was, is, got)
		}
	}
}

// script plays one trace. Owners and calls have the same names: a, b, c; a2 is another call of a's owner.
type script struct {
	t *testing.T
	clock
	cfg     Config
	s       State
	e       fakeEngine
	begun   bool
	out     []string
	waiters map[string]*Waiter
	owned   map[string]*Ownership // the last ownership of each call
	nested  map[string]*Reentry
	move    *Move
}

func newScript(t *testing.T) *script {
	p := &script{
		t: t, clock: clock{now: start}, cfg: Config{Lease: testLease, Handoff: Confirmed},
		waiters: make(map[string]*Waiter), owned: make(map[string]*Ownership), nested: make(map[string]*Reentry),
	}
	p.e = fakeEngine{clock: &p.clock, did: func(who, format string, args ...any) {
		p.say("%s", strings.TrimSpace(who+" "+fmt.Sprintf(format, args...)))
	}}
	return p
}

// play carries out the inputs, and returns the text with what came of them.
func (p *script) play(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "->"):
			continue
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			b.WriteString(line)
			continue
		}
		b.WriteString(line)
		words := strings.Fields(line)
		p.out = nil
		before := p.state()
		p.do(words[0], words[1:])
		for _, said := range p.out {
			b.WriteString("-> " + said + "\n")
		}
		if after := p.state(); after != before {
			b.WriteString("-> [" + after + "]\n")
		}
	}
	return b.String()
}

func (p *script) say(format string, args ...any) { p.out = append(p.out, fmt.Sprintf(format, args...)) }

// state is the State in a line: the owners with their hold counts, the field, the queue, the rest.
func (p *script) state() string {
	var parts []string
	for _, o := range p.s.owners {
		part := fmt.Sprintf("%s %s", o.owner, [...]string{"holds", "is releasing", "ended"}[o.state])
		if o.state == Live && len(o.holds) != 1 {
			part += fmt.Sprintf(" %d", len(o.holds))
		}
		if f := &o.lease.field; f.moving() {
			part += fmt.Sprintf(", Redis has %s or %s", f.owner, f.next)
		} else if f.owner != o.owner {
			part += fmt.Sprintf(", Redis has %s", f.owner)
		}
		parts = append(parts, part)
	}
	for w := p.s.waiting.first; w != nil; w = w.next {
		parts = append(parts, p.nameOf(w)+" "+[...]string{"waits", "leads"}[w.state])
	}
	for _, owner := range []string{"a", "b", "c"} {
		if l := p.s.losses[owner]; l != nil {
			parts = append(parts, fmt.Sprintf("%s owes %d", owner, len(l.holds)+l.earlier+l.handles))
		}
	}
	switch {
	case p.s.arrival == MaybeRegistered:
		parts = append(parts, "perhaps registered")
	case p.s.arrival != 0:
		parts = append(parts, "registered")
	}
	if p.s.closing {
		parts = append(parts, "closing")
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

func (p *script) nameOf(w *Waiter) string {
	for name, x := range p.waiters {
		if x == w {
			return name
		}
	}
	return w.Owner
}

// options are the words after the name that an input is about: key=value, or a word alone.
type options []string

func (o options) has(word string) bool { return slices.Contains(o, word) }

func (o options) value(key string) (string, bool) {
	for _, word := range o {
		if value, ok := strings.CutPrefix(word, key+"="); ok {
			return value, true
		}
	}
	return "", false
}

func (o options) duration(key string, otherwise time.Duration) time.Duration {
	if value, ok := o.value(key); ok {
		d, err := time.ParseDuration(value)
		if err != nil {
			panic(err)
		}
		return d
	}
	return otherwise
}

var errReplicasMissing, errSilent = errors.New("replicas are missing"), errors.New("no answer")
