package tracecheck_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/tracecheck"
)

// doctor changes the n-th entry of that kind and outcome, from 0.
func doctor(kind, outcome string, n int, change func(*tracecheck.Entry)) func(*testing.T, []tracecheck.Entry) []tracecheck.Entry {
	return func(t *testing.T, entries []tracecheck.Entry) []tracecheck.Entry {
		t.Helper()
		change(&entries[find(t, entries, kind, outcome, n)])
		return entries
	}
}

func find(t *testing.T, entries []tracecheck.Entry, kind, outcome string, n int) int {
	t.Helper()
	for i, e := range entries {
		if e.Kind == kind && e.Outcome == outcome {
			if n--; n < 0 {
				return i
			}
		}
	}
	t.Fatalf("no %s that was %s in %+v", kind, outcome, entries)
	return 0
}

// copyOf is a trace whose entries may be changed.
func copyOf(trace *tracecheck.Trace, title string) *tracecheck.Trace {
	c := &tracecheck.Trace{Name: title, Entries: slices.Clone(trace.Entries)}
	for i := range c.Entries {
		if p := c.Entries[i].Passed; p != nil {
			passed := *p
			c.Entries[i].Passed = &passed
		}
	}
	return c
}

// doctored are traces in which one entry is something that the library must not do.
var doctored = []struct {
	title  string
	of     int // the scene: passedOn, lateAcquire, lateRelease
	doctor func(*testing.T, []tracecheck.Entry) []tracecheck.Entry
}{
	{"granted while another holds", 0, doctor("acquire", "busy", 0, func(e *tracecheck.Entry) { e.Outcome = "granted" })},
	{"busy though the lock is free", 0, doctor("acquire", "granted", 0, func(e *tracecheck.Entry) { e.Outcome = "busy" })},
	{"granted by an old nonce", 0, func(t *testing.T, entries []tracecheck.Entry) []tracecheck.Entry {
		entries[granting(t, entries)].Passed.Nonce = firstNonce(t, entries)
		return entries
	}},
	{"passed on to nobody", 0, func(t *testing.T, entries []tracecheck.Entry) []tracecheck.Entry {
		entries[granting(t, entries)].Passed = &tracecheck.Passing{}
		return entries
	}},
	{"no epoch after a doubt", 1, doctor("acquire", "granted", 1, func(e *tracecheck.Entry) { e.Epoch = false })},
	{"late acquire has effect", 1, doctor("acquire", "void", 0, func(e *tracecheck.Entry) { e.Outcome = "granted" })},
	{"late release has effect", 2, doctor("release", "void", 0, func(e *tracecheck.Entry) {
		e.Outcome, e.Passed = "freed", &tracecheck.Passing{}
	})},
	{"released by somebody who holds nothing", 0, func(t *testing.T, entries []tracecheck.Entry) []tracecheck.Entry {
		last := entries[len(entries)-1]
		last.At, last.Number, last.Outcome, last.Passed, last.Turn = last.At+1000, last.Number+1, "absent", nil, nil
		return append(entries, last)
	}},
	{"left without naming the owner", 0, doctor("leave", "done", 0, func(e *tracecheck.Entry) { e.Owners = nil })},
	{"acquired for another owner of a holder", 0, doctor("release", "freed", 0, func(e *tracecheck.Entry) { e.Owner += "z" })},
	{"held beyond its lease", 0, doctor("acquire", "granted", 0, func(e *tracecheck.Entry) { e.Lease = 1000 })},
}

// firstNonce is that of an attempt that another one has followed.
func firstNonce(t *testing.T, entries []tracecheck.Entry) string {
	t.Helper()
	var nonces []string
	for _, e := range entries {
		if e.Nonce != "" && !slices.Contains(nonces, e.Nonce) {
			nonces = append(nonces, e.Nonce)
		}
	}
	if len(nonces) < 2 {
		t.Fatalf("nonces %q: two attempts were to ask for a grant", nonces)
	}
	return nonces[0]
}

// TestDoctored shows that the model follows what the library does, and refuses what it must not do.
func TestDoctored(t *testing.T) {
	model := tracecheck.NewModel(t, "../../spec")
	scenes := []*tracecheck.Trace{passedOn(t), lateAcquire(t), lateRelease(t)}
	traces := slices.Clone(scenes)
	for _, test := range doctored {
		c := copyOf(scenes[test.of], test.title)
		c.Entries = test.doctor(t, c.Entries)
		traces = append(traces, c)
	}
	refused := check(t, model, traces)
	for i, trace := range traces {
		switch r := refused[trace]; {
		case i < len(scenes) && r != nil:
			t.Error(r)
		case i >= len(scenes) && r == nil:
			t.Errorf("%s: accepted", trace.Name)
		}
	}
}

// check returns the refused ones of the traces, and logs up to where the model follows them.
func check(t *testing.T, model *tracecheck.Model, traces []*tracecheck.Trace) map[*tracecheck.Trace]*tracecheck.Refusal {
	t.Helper()
	refused, err := model.Check(t.Context(), traces...)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[*tracecheck.Trace]*tracecheck.Refusal)
	for _, r := range refused {
		found[r.Trace] = r
		text, _, _ := strings.Cut(r.Error(), "\n")
		t.Log(text)
	}
	return found
}

func granting(t *testing.T, entries []tracecheck.Entry) int {
	t.Helper()
	i := slices.IndexFunc(entries, func(e tracecheck.Entry) bool { return e.Passed != nil && e.Passed.To != "" })
	if i < 0 {
		t.Fatalf("no grant by a release in %+v", entries)
	}
	return i
}

// mistake is a hook of go-redis that puts a mistake into a script. Redis does not know the script by the SHA1 that the
// library asks for, so the library sends the text each time.
type mistake struct{ old, new string }

func (m mistake) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m mistake) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		m.put(cmd)
		return next(ctx, cmd)
	}
}

func (m mistake) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			m.put(cmd)
		}
		return next(ctx, cmds)
	}
}

func (m mistake) put(cmd redis.Cmder) {
	if args := cmd.Args(); len(args) > 1 && args[0] == "eval" {
		if source, ok := args[1].(string); ok {
			args[1] = strings.ReplaceAll(source, m.old, m.new)
		}
	}
}

// TestMistakes shows that mistakes in the scripts are found in what they do.
func TestMistakes(t *testing.T) {
	model := tracecheck.NewModel(t, "../../spec")
	var traces []*tracecheck.Trace
	for _, test := range []struct {
		title   string
		play    func(*testing.T, ...redis.Hook) *tracecheck.Trace
		mistake mistake
	}{
		{"acquire takes a lock that is held", contended, mistake{"if not held and (woken or ttl ~= -2) then", "if false then"}},
		{"release ignores the epoch", lateRelease, mistake{"if mark and tonumber(mark) > tonumber(ARGV[2]) then\n  return -1", "if false then\n  return -1"}},
		{"release publishes another nonce", passedOn, mistake{"local message = nonce", "local message = 'of somebody else'"}},
	} {
		trace := test.play(t, test.mistake)
		trace.Name = test.title
		traces = append(traces, trace)
	}
	refused := check(t, model, traces)
	for _, trace := range traces {
		if refused[trace] == nil {
			t.Errorf("%s: accepted", trace.Name)
		}
	}
}
