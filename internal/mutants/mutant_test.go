package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// Whoever changes what a mutant replaces, or the name of a test that catches it, hears of it
// here, and not from a long run later.
func TestMutantsAreUpToDate(t *testing.T) {
	mutants, err := load("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		for _, file := range m.files() {
			if _, err := m.mutate(root, file); err != nil {
				t.Error(err)
			}
		}
		tests := testFiles(t, m.pkg)
		for _, name := range m.tests {
			if !strings.Contains(tests, "\nfunc "+name+"(t *testing.T) {\n") {
				t.Errorf("mutant %s is out of date: %s has no test %s", m.name, m.pkg, name)
			}
		}
	}
}

// testFiles is the text of a package's tests.
func testFiles(t *testing.T, pkg string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

func TestParse(t *testing.T) {
	const whole = "The owner is\nnot asked.\n\ntest ./lua TestA TestB\n\nfile a.lua\n--- old\n  x\n\n  y\n--- new\n  z\n\nfile b.go\n--- old\nfoo\n--- new\n"
	m, err := parse(whole)
	if err != nil {
		t.Fatal(err)
	}
	if m.about != "The owner is not asked." || m.pkg != "./lua" || strings.Join(m.tests, " ") != "TestA TestB" {
		t.Errorf("%+v", m)
	}
	if len(m.changes) != 2 || m.changes[0] != (change{"a.lua", "  x\n\n  y", "  z"}) || m.changes[1] != (change{"b.go", "foo", ""}) {
		t.Errorf("%q", m.changes)
	}
	for _, part := range []string{"The owner is\nnot asked.", "test ./lua TestA TestB\n", " TestA TestB", "file a.lua\n", "  x\n\n  y\n", "--- new\n  z\n\nfile b.go\n--- old\nfoo\n--- new\n"} {
		if m, err := parse(strings.Replace(whole, part, "", 1)); err == nil {
			t.Errorf("without %q it is taken for %+v", part, m)
		}
	}
}

func TestChoose(t *testing.T) {
	all := []mutant{{name: "a"}, {name: "b"}, {name: "c"}}
	if got, err := choose(all, []string{"c", "a"}); err != nil || len(got) != 2 || got[0].name != "c" || got[1].name != "a" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := choose(all, []string{"a", "d"}); err == nil {
		t.Errorf("one that there is not: %v", got)
	}
}

func TestMutate(t *testing.T) {
	const file = "internal/mutants/mutant.go"
	for old, fine := range map[string]bool{
		"// load reads all mutants, by name.": true,
		"// load reads all the mutants.":      false, // nowhere
		"return nil, err":                     false, // often
	} {
		m := mutant{name: "m", changes: []change{{file, old, "// new"}}}
		text, err := m.mutate(root, file)
		if fine != (err == nil) || fine != strings.Contains(text, "\n// new\nfunc load(") {
			t.Errorf("%q: %v", old, err)
		}
	}
}
