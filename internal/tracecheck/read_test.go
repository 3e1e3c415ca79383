package tracecheck_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/tracecheck"
)

// TestTraceOfAGrant needs no TLC: it shows what is read from MONITOR.
func TestTraceOfAGrant(t *testing.T) {
	trace := passedOn(t)
	var told []string
	for _, e := range trace.Entries {
		told = append(told, e.Kind+" "+e.Outcome)
	}
	// The waiter's first attempt of each wait does not register, unless it is subscribed already.
	told = slices.DeleteFunc(told, func(s string) bool { return s == "acquire void" })
	want := []string{
		"acquire granted", "acquire busy", "leave done", "acquire busy", "release freed", "release freed", "acquire granted", "release freed",
	}
	if !slices.Equal(told, want) {
		t.Errorf("trace\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	passed := trace.Entries[granting(t, trace.Entries)].Passed
	if !slices.ContainsFunc(trace.Entries, func(e tracecheck.Entry) bool {
		return e.Nonce == passed.Nonce && e.Client == passed.To && e.Owner == passed.Owner
	}) {
		t.Errorf("%+v grants to none that has asked for it", passed)
	}
}
