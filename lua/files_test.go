package lua_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// source is one embedded file, apart: what its head promises and what it does.
type source struct {
	file, head, body string
}

func sources(t *testing.T) []source {
	t.Helper()
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	var all []source
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := source{file: file}
		inHead := true
		for line := range strings.Lines(string(text)) {
			if inHead = inHead && strings.HasPrefix(line, "--"); inHead {
				s.head += line
				continue
			}
			code, _, _ := strings.Cut(line, "--")
			s.body += strings.TrimRight(code, "\n") + "\n"
		}
		all = append(all, s)
	}
	return all
}

func TestFilesSayWhatTheyDo(t *testing.T) {
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.head, "-- "+strings.TrimSuffix(s.file, ".lua")+": ") {
			t.Errorf("%s begins with %.40q", s.file, s.head)
		}
		if strings.Contains(strings.ReplaceAll(s.body, "HKEYS", ""), "KEYS") && !strings.Contains(s.head, "\n-- Replies ") {
			t.Errorf("%s does not say what it replies", s.file)
		}
	}
}

func TestFilesAreEmbedded(t *testing.T) {
	code, err := os.ReadFile("scripts.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sources(t) {
		if !strings.Contains(string(code), "//go:embed "+s.file+"\n") {
			t.Errorf("%s is not embedded", s.file)
		}
	}
}

var (
	documented = regexp.MustCompile(`(?m)^-- ((?:KEYS|ARGV)\[[^\]]+\])`)
	used       = regexp.MustCompile(`(?:KEYS|ARGV)\[[^\]]+\]`)
)

// Every key and argument that is used is documented, and the other way round.
func TestFilesDocumentTheirArguments(t *testing.T) {
	for _, s := range sources(t) {
		var says []string
		for _, m := range documented.FindAllStringSubmatch(s.head, -1) {
			says = append(says, m[1])
		}
		if !slices.IsSorted(argvLast(says)) || len(slices.Compact(slices.Clone(says))) != len(says) {
			t.Errorf("%s: out of order: %v", s.file, says)
		}
		uses := used.FindAllString(strings.ReplaceAll(s.body, " ", ""), -1)
		if strings.Contains(s.body, "ipairs(KEYS)") {
			uses = append(uses, "KEYS[i]")
		}
		slices.Sort(uses)
		slices.Sort(says)
		if uses = slices.Compact(uses); !slices.Equal(says, uses) {
			t.Errorf("%s documents %v and uses %v", s.file, says, uses)
		}
	}
}

// argvLast turns the order of the documentation, keys first and by number, into the order of strings.
func argvLast(names []string) []string {
	var out []string
	for _, n := range names {
		n = strings.TrimSuffix(strings.Replace(n, "ARGV", "xARGV", 1), "]") // a]b is before a+
		n = strings.Replace(n, "[i", "[~~i", 1)                             // the rest comes last
		out = append(out, tens.ReplaceAllString(n, "[~$1"))
	}
	return out
}

var tens = regexp.MustCompile(`\[(\d\d)$`)

// The scripts parse, on each server and as they are.
func TestFilesParse(t *testing.T) {
	onBoth(t, func(t *testing.T, r *rig) {
		for _, s := range sources(t) {
			if err := r.rdb.ScriptLoad(t.Context(), s.head+s.body).Err(); err != nil {
				t.Errorf("%s: %v", s.file, err)
			}
		}
	})
}
