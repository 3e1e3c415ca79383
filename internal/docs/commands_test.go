package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// byHand are the make targets that CI does not run, since they take long or are for
// people. The others have to be in .ci/run or needed by one that is.
var byHand = map[string]bool{"adapters": true, "api": true, "bench": true, "browser": true, "compare": true, "consumer": true, "cover": true, "dist": true, "examples": true, "fencing": true, "help": true, "leaders": true, "otel": true, "pictures": true, "release": true, "tables": true, "torture": true, "why": true}

var (
	shellFence = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	inline     = regexp.MustCompile("`((?:[A-Z_]+=\\S+ )?(?:go|make) [^`]+)`")
)

// tried are the documents of which TestPage in cmd/redlatch runs each line that has the command redlatch.
var tried = map[string]bool{"README.md": true, "docs/cli.md": true}

// commands are those in the blocks of shell code and in the text of a document.
func commands(t *testing.T, doc string) (found []string) {
	t.Helper()
	text := read(t, doc)
	for _, block := range shellFence.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(line, " #")
			if line = strings.TrimSpace(line); line != "" {
				found = append(found, line)
			}
		}
	}
	for _, code := range inline.FindAllStringSubmatch(text, -1) {
		found = append(found, code[1])
	}
	return found
}

// TestCommands checks each command in the documents: CI runs it, or a test of its
// package does, and its flags exist.
func TestCommands(t *testing.T) {
	ci, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, doc := range documents(t) {
		for _, command := range commands(t, doc) {
			if seen[command] {
				continue
			}
			seen[command] = true
			if strings.Contains(command, "redlatch ") && tried[doc] {
				continue
			}
			words := strings.Fields(command)
			for strings.Contains(words[0], "=") { // a variable of the environment
				words = words[1:]
			}
			switch words[0] {
			case "make":
				checkMake(t, doc, words[1:], string(ci))
			case "go":
				checkGo(t, doc, words[1:])
			case ".ci/run":
			default:
				t.Errorf("%s: nothing checks the command %q", doc, command)
			}
		}
	}
	if len(seen) == 0 {
		t.Fatal("no commands in the documents")
	}
}

func checkMake(t *testing.T, doc string, targets []string, ci string) {
	t.Helper()
	for _, target := range targets {
		if strings.Contains(target, "=") {
			continue // a variable
		}
		dry := exec.CommandContext(t.Context(), "make", "-n", target)
		dry.Dir = root
		if out, err := dry.CombinedOutput(); err != nil {
			t.Errorf("%s: make %s: %v\n%s", doc, target, err, out)
		}
		if !byHand[target] && !regexp.MustCompile(`\bmake `+target+`\s`).MatchString(ci) {
			t.Errorf("%s: CI does not run make %s", doc, target)
		}
	}
}

func checkGo(t *testing.T, doc string, words []string) {
	t.Helper()
	switch words[0] {
	case "run":
		checkRun(t, doc, words[1:])
	case "test":
		for _, word := range words[1:] {
			if strings.HasPrefix(word, "./") && !strings.HasSuffix(word, "...") {
				isDir(t, doc, filepath.Join(root, word))
			}
		}
	case "get":
		if len(words) < 2 {
			t.Errorf("%s: go get names no package", doc)
			return
		}
		// A package, not the module: go get notes the checksums of what it needs.
		module, _, _ := strings.Cut(strings.TrimPrefix(read(t, "go.mod"), "module "), "\n")
		dir, within := strings.CutPrefix(words[1], module+"/")
		if files, _ := filepath.Glob(filepath.Join(root, dir, "*.go")); !within || len(files) == 0 {
			t.Errorf("%s: go get %s is no package of this module", doc, words[1])
		}
	case "install":
		if len(words) < 4 || words[1] != "-C" || words[3] != "." {
			t.Errorf("%s: go %s installs no module of ours", doc, strings.Join(words, " "))
			return
		}
		isDir(t, doc, filepath.Join(root, words[2]))
	default:
		t.Errorf("%s: nothing checks go %s", doc, strings.Join(words, " "))
	}
}

// checkRun checks that the program has a test that runs it, and the flags.
func checkRun(t *testing.T, doc string, words []string) {
	t.Helper()
	dir := root
	if words[0] == "-C" {
		dir, words = filepath.Join(root, words[1]), words[2:]
	}
	pkg := words[0]
	isDir(t, doc, filepath.Join(dir, pkg))
	if tests, _ := filepath.Glob(filepath.Join(dir, pkg, "*_test.go")); len(tests) == 0 {
		t.Errorf("%s: no test runs %s", doc, pkg)
	}
	files, _ := filepath.Glob(filepath.Join(dir, pkg, "*.go"))
	var source strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, word := range words[1:] {
		flag, _, _ := strings.Cut(word, "=")
		name, isFlag := strings.CutPrefix(flag, "-")
		// The flag is looked for where it is defined: to run the program may mean to
		// compile half a minute.
		if isFlag && name != "help" && !strings.Contains(source.String(), `"`+name+`",`) {
			t.Errorf("%s: %s has no flag %s", doc, pkg, flag)
		}
	}
}

func isDir(t *testing.T, doc, dir string) {
	t.Helper()
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Errorf("%s: no directory %s", doc, dir)
	}
}
