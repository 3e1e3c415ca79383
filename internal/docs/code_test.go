package docs

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the module's directory, seen from this one.
const root = "../.."

// imports are those that a fragment may use without saying so.
var imports = map[string]string{
	"context":   "context",
	"errors":    "errors",
	"expvar":    "expvar",
	"http":      "net/http",
	"log":       "log",
	"logging":   "github.com/redis/go-redis/v9/logging",
	"multilock": "github.com/redlatch/redlatch/multilock",
	"os":        "os",
	"redis":     "github.com/redis/go-redis/v9",
	"reentrant": "github.com/redlatch/redlatch/reentrant",
	"slog":      "log/slog",
	"sql":       "database/sql",
	"time":      "time",
	"tls":       "crypto/tls",
}

// parameters are the names that a fragment may use: it is the body of a function that has
// them. The program in testdata gives them a meaning.
const parameters = `ctx context.Context, db *sql.DB, client *reentrant.Client, lock *reentrant.Lock, ` +
	`locks []multilock.Locker, settle func(context.Context) error`

// block is a block of Go code in a document.
type block struct {
	file string
	line int // of its first line
	code string
}

// String is where the block is.
func (b block) String() string { return fmt.Sprintf("%s:%d", b.file, b.line) }

// program reports whether the block is a whole program.
func (b block) program() bool { return strings.HasPrefix(b.code, "package main\n") }

// test reports whether the block is a file of tests. What is neither that nor a program is a
// fragment.
func (b block) test() bool { return testClause.MatchString(b.code) }

var testClause = regexp.MustCompile(`^package \w+_test\n`)

// connects reports whether the block shows how to connect: it ends in reentrant.New.
func (b block) connects() bool { return strings.Contains(b.code, "return reentrant.New(") }

var fence = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// blocks are those of all documents, in gofmt's format.
func blocks(t *testing.T) (found []block) {
	t.Helper()
	for _, doc := range documents(t) {
		text := read(t, doc)
		for _, at := range fence.FindAllStringSubmatchIndex(text, -1) {
			b := block{file: doc, line: 1 + strings.Count(text[:at[2]], "\n"), code: text[at[2]:at[3]]}
			formatted, err := format.Source([]byte(b.code))
			if err != nil {
				t.Errorf("%v: %v", b, err)
			} else if string(formatted) != b.code {
				t.Errorf("%v: gofmt would change the code to\n%s", b, formatted)
			}
			found = append(found, b)
		}
	}
	return found
}

// source is the block as a file of its own. The compiler's errors name the document.
// A fragment registers itself under the block's name, since the compiler does not look
// into a function without one. It is a scope of its own, so that it may declare a name
// that is a parameter's.
func (b block) source() string {
	if b.program() || b.test() {
		return fmt.Sprintf("//line %v\n%s", b, b.code)
	}
	result := "error"
	if b.connects() {
		result = "(*reentrant.Client, error)"
	}
	var file strings.Builder
	file.WriteString("package main\n\nimport (\n")
	for _, name := range sortedKeys(imports) {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(parameters + " " + result + "\n" + b.code) {
			fmt.Fprintf(&file, "\t%s %q\n", name, imports[name])
		}
	}
	fmt.Fprintf(&file, ")\n\nfunc init() {\n\tfragments[%q] = func(%s) %s {\n\t{\n//line %v\n%s}\n}\n}\n",
		b, parameters, result, b, b.code)
	return file.String()
}

func sortedKeys(m map[string]string) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
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
