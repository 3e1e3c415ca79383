package report

import (
	"strings"
	"testing"

	"github.com/redlatch/redlatch/benchmarks/internal/bench"
)

func TestMarkdownReplacesTheTablesAlone(t *testing.T) {
	document := "before\n" + beginTables + "old\n" + endTables + "after\n"
	once, err := Markdown([]byte(document), new(bench.Result), "")
	if err != nil {
		t.Fatal(err)
	}
	got := string(once)
	if !strings.HasPrefix(got, "before\n"+beginTables) || !strings.HasSuffix(got, endTables+"after\n") || strings.Contains(got, "old") {
		t.Errorf("%s", got)
	}
	if twice, err := Markdown(once, new(bench.Result), ""); err != nil || string(twice) != got {
		t.Errorf("not the same when written again: %v\n%s", err, twice)
	}
	for _, broken := range []string{"", beginTables, endTables + beginTables} {
		if _, err := Markdown([]byte(broken), new(bench.Result), ""); err == nil {
			t.Errorf("no error for %q", broken)
		}
	}
}

func TestFiguresCanBeRead(t *testing.T) {
	for _, test := range []struct {
		unit bench.Unit
		v    float64
		want string
	}{
		{bench.Span, 1.5e9, "1.5s"},
		{bench.Bytes, 1023, "1023 B"},
		{bench.Bytes, -64 << 10, "-64 KiB"},
		{bench.Bytes, 20 << 20, "20 MiB"},
		{bench.Count, 100_000, "100,000"},
		{bench.Share, 1.004, "1.00"},
	} {
		if got := figure(test.unit, test.v); got != test.want {
			t.Errorf("%s %v = %q, want %q", test.unit, test.v, got, test.want)
		}
	}
}
