package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// faults is how many there are in the matrix. Their numbers are in the names of their tests:
// TestFault39CancelAtEachStep, or TestFault16And17LostReplies for several.
const faults = 67

// TestFaults holds the tables of docs/tested.md against the tests: each fault is in one
// of the two, with every test that carries its number and no other, or with a reason why
// there is none.
func TestFaults(t *testing.T) {
	tested := faultTests(t)
	text := read(t, "docs/tested.md")
	listed, untested := make(map[int][]string), make(map[int]bool)
	for _, row := range tableUnder(t, text, "Faults that are tested", 4) {
		n := faultNumber(t, row[0])
		if _, twice := listed[n]; twice {
			t.Errorf("fault %d is in the table twice", n)
		}
		if row[1] == "" || row[2] == "" {
			t.Errorf("fault %d: a cell is empty", n)
		}
		listed[n] = []string{}
		for _, found := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[3], -1) {
			listed[n] = append(listed[n], found[1])
		}
	}
	var without [][]string // there may be none
	if strings.Contains(text, "\n## Faults that are not tested\n") {
		without = tableUnder(t, text, "Faults that are not tested", 3)
	}
	for _, row := range without {
		n := faultNumber(t, row[0])
		if row[1] == "" || row[2] == "" {
			t.Errorf("fault %d is not tested, and no reason is given", n)
		}
		untested[n] = true
	}
	for n := 1; n <= faults; n++ {
		names, inTable := listed[n]
		switch {
		case len(tested[n]) == 0 && !untested[n]:
			t.Errorf("fault %d has neither a test (TestFault%02d...) nor a reason why not", n, n)
		case len(tested[n]) > 0 && untested[n]:
			t.Errorf("fault %d is said not to be tested, and is: %v", n, slices.Collect(maps.Keys(tested[n])))
		}
		if inTable == untested[n] {
			t.Errorf("fault %d is in both tables of docs/tested.md, or in neither", n)
		}
		for _, name := range names {
			if !tested[n][name] {
				t.Errorf("fault %d: there is no test %s, or it has another number", n, name)
			}
		}
		for name := range tested[n] {
			if !slices.Contains(names, name) {
				t.Errorf("fault %d: %s is not in the table of docs/tested.md", n, name)
			}
		}
	}
}

func faultNumber(t *testing.T, cell string) int {
	t.Helper()
	n, err := strconv.Atoi(cell)
	if err != nil || n < 1 || n > faults {
		t.Fatalf("docs/tested.md has a fault %q, want 1 to %d", cell, faults)
	}
	return n
}

// tableUnder returns the cells of the table in a section, without its head.
func tableUnder(t *testing.T, text, heading string, columns int) (rows [][]string) {
	t.Helper()
	_, section, found := strings.Cut(text, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/tested.md has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != columns {
			t.Fatalf("%d cells, want %d: %s", len(cells), columns, line)
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("section %q has no table", heading)
	}
	return rows[2:]
}

var (
	faultTest    = regexp.MustCompile(`^TestFault\d`)
	faultNumbers = regexp.MustCompile(`^TestFault(\d\d(?:And\d\d)*)([A-Z]\w*)$`)
	noWords      = regexp.MustCompile(`^And\d`)
)

// faultTests are the names of the tests of each fault, in the whole module.
func faultTests(t *testing.T) map[int]map[string]bool {
	t.Helper()
	tests := make(map[int]map[string]bool)
	for _, file := range testFiles(t) {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			f, function := decl.(*ast.FuncDecl)
			if !function || f.Recv != nil || !faultTest.MatchString(f.Name.Name) {
				continue
			}
			numbers, err := numbersOf(f.Name.Name)
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
			for _, n := range numbers {
				if tests[n] == nil {
					tests[n] = make(map[string]bool)
				}
				tests[n][f.Name.Name] = true
			}
		}
	}
	return tests
}

// numbersOf are the numbers of the faults that a test is named after.
func numbersOf(name string) (numbers []int, err error) {
	found := faultNumbers.FindStringSubmatch(name)
	if found == nil || noWords.MatchString(found[2]) {
		return nil, fmt.Errorf("%s: want TestFault, a number of two digits, for several And between them, and words", name)
	}
	for digits := range strings.SplitSeq(found[1], "And") {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > faults {
			return nil, fmt.Errorf("%s: fault %s, want 01 to %d", name, digits, faults)
		}
		if slices.Contains(numbers, n) {
			return nil, fmt.Errorf("%s: fault %d twice", name, n)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// testFiles are those of this module, and of no module inside it.
func testFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") {
				return filepath.SkipDir
			}
		}
		if !entry.IsDir() && strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("the module has no tests")
	}
	return files
}

// TestFaultNames has names that the rule must refuse.
func TestFaultNames(t *testing.T) {
	for name, want := range map[string][]int{
		"TestFault39CancelAtEachStep":      {39},
		"TestFault16And17LostReplies":      {16, 17},
		"TestFault01And02And62Everything":  {1, 2, 62},
		"TestFault1RestartEmpty":           nil,
		"TestFault00Nothing":               nil,
		"TestFault68More":                  nil,
		"TestFault16And17":                 nil,
		"TestFault16and17LostReplies":      nil,
		"TestFault16And16LostReplies":      nil,
		"TestFault016LostReplies":          nil,
		"TestFault16And71LostReplies":      nil,
		"TestFault16AndLostRepliesAndMore": {16},
	} {
		if got, err := numbersOf(name); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
}
