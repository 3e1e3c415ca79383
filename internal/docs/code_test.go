package docs

import (
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the module's directory, seen from this one.
const root = "../.."

// imports are those that a fragment may use without saying so.
var imports = map[string]string{
	"context":   "context",
	"errors":    "errors",
	"log":       "log",
	"multilock": "github.com/redlatch/redlatch/multilock",
	"os":        "os",
	"redis":     "github.com/redis/go-redis/v9",
	"reentrant": "github.com/redlatch/redlatch/reentrant",
	"slog":      "log/slog",
	"sql":       "database/sql",
	"time":      "time",
	"tls":       "crypto/tls",
}

// names are those that a fragment may use, as the parameters of a function whose
// body it is.
const names = `ctx context.Context, db *sql.DB, client *reentrant.Client, lock *reentrant.Lock, settle func(context.Context) error`

// TestCode compiles every block of Go code in the documents: as a file if it begins
// with a package clause, otherwise as the body of a function.
func TestCode(t *testing.T) {
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	// An overlay lays the blocks over this directory; nothing is written into it.
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	var packages []string
	for _, doc := range documents(t) {
		for _, block := range blocks(t, doc) {
			name := fmt.Sprintf("block%d", len(overlay.Replace))
			file := filepath.Join(t.TempDir(), name+".go")
			if err := os.WriteFile(file, []byte(block.source()), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay.Replace[filepath.Join(dir, name, name+".go")] = file
			packages = append(packages, "./"+name)
		}
	}
	if len(overlay.Replace) == 0 {
		t.Fatal("no Go code in the documents")
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"build", "-buildvcs=false", "-o", t.TempDir(), "-overlay", file}, packages...)
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// block is a block of Go code.
type block struct {
	file string
	line int // of its first line
	code string
}

var fence = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

func blocks(t *testing.T, doc string) (found []block) {
	t.Helper()
	text := read(t, doc)
	for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
		b := block{file: doc, line: 1 + strings.Count(text[:at[2]], "\n"), code: text[at[2]:at[3]]}
		formatted, err := format.Source([]byte(b.code))
		if err != nil {
			t.Errorf("%s:%d: %v", b.file, b.line, err)
		} else if string(formatted) != b.code {
			t.Errorf("%s:%d: gofmt would change the code to\n%s", b.file, b.line, formatted)
		}
		found = append(found, b)
	}
	return found
}

// source is the block as a file, with the document's name in the errors.
func (b block) source() string {
	where := fmt.Sprintf("//line %s:%d\n", b.file, b.line)
	if strings.HasPrefix(b.code, "package ") {
		return where + b.code
	}
	result := "error"
	if strings.Contains(b.code, "return reentrant.New(") {
		result = "(*reentrant.Client, error)"
	}
	var file strings.Builder
	file.WriteString("package block\n\nimport (\n")
	for name, path := range imports {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(names + result + b.code) {
			fmt.Fprintf(&file, "\t%s %q\n", name, path)
		}
	}
	fmt.Fprintf(&file, ")\n\nfunc _(%s) %s {\n%s%s}\n", names, result, where, b.code)
	return file.String()
}

// documents are all Markdown files of the project, relative to its root.
func documents(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, filepath.ToSlash(name))
		}
	}
	return files
}

func read(t *testing.T, doc string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, doc))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
