package report

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/redlatch/redlatch/benchmarks/internal/bench"
)

// Between these two lines of a document the tables are generated.
const (
	beginTables = "<!-- tables: begin; generated from the JSON, do not edit -->\n"
	endTables   = "<!-- tables: end -->\n"
)

// WriteMarkdown puts the tables into a document, between its two comments. images is
// where the plots are, as seen from there.
func WriteMarkdown(path string, res *bench.Result, images string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, err := Markdown(text, res, images)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, changed, 0o644)
}

// CheckMarkdown is an error if WriteMarkdown could not do its work.
func CheckMarkdown(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if _, err := Markdown(text, new(bench.Result), ""); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Markdown is a document with the tables of res in the place of those it has.
func Markdown(document []byte, res *bench.Result, images string) ([]byte, error) {
	before, rest, found := bytes.Cut(document, []byte(beginTables))
	_, after, ended := bytes.Cut(rest, []byte(endTables))
	if !found || !ended {
		return nil, fmt.Errorf("no lines %q and %q, in this order", beginTables, endTables)
	}
	var changed bytes.Buffer
	changed.Write(before)
	changed.WriteString(beginTables + "\n")
	Print(&changed, res, images)
	changed.WriteString("\n" + endTables)
	changed.Write(after)
	return changed.Bytes(), nil
}
