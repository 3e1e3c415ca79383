//go:build unix

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/redlatch/redlatch/benchmarks/internal/report"
)

// TestTablesAreThoseOfTheJSON keeps the document from telling other figures than
// the file that was measured.
func TestTablesAreThoseOfTheJSON(t *testing.T) {
	const document, results = "../docs/benchmarks.md", "../docs/benchmarks/results.json"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.CheckMarkdown(document); err != nil {
		t.Fatal(err)
	}
	res, err := report.ReadJSON(results)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("nothing has been measured yet: make bench")
	} else if err != nil {
		t.Fatal(err)
	}
	want, err := report.Markdown(text, res, "benchmarks")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Errorf("%s has other tables than %s: make tables", document, results)
	}
}
