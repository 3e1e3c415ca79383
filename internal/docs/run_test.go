package docs

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCode compiles every block of Go code in the documents and runs it: a block of
// package main as a program, one of a package whose name ends in _test as tests, any other
// as the body of a function. The addresses in it
// are replaced by those of servers that the test starts.
func TestCode(t *testing.T) {
	found := blocks(t)
	if len(found) == 0 {
		t.Fatal("no Go code in the documents")
	}
	t.Setenv("REDIS_PASSWORD", password)
	s := startServers(t)
	bin := build(t, s, found)
	for i, b := range found {
		t.Run(b.String(), func(t *testing.T) {
			command := exec.CommandContext(t.Context(), filepath.Join(bin, "fragments"), b.String())
			switch {
			case b.program():
				command = exec.CommandContext(t.Context(), filepath.Join(bin, programName(i)))
			case b.test():
				command = exec.CommandContext(t.Context(), filepath.Join(bin, programName(i)), "-test.v")
			}
			command.Env = append(os.Environ(),
				"DOCS_SERVERS="+strings.Join(s.standalone, " "), "SSL_CERT_FILE="+s.authority)
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if b.test() && !strings.Contains(string(out), "--- PASS: ") {
				t.Errorf("nothing was tested:\n%s", out)
			}
			// Code that says it settles something has to come to it.
			settles := strings.Contains(b.code, "settle") && !b.connects() && !b.test()
			if settles && !strings.Contains(string(out), "settled") || strings.Contains(string(out), "settled 0") && settles {
				t.Errorf("nothing was settled:\n%s", out)
			}
		})
	}
}

func programName(i int) string { return fmt.Sprintf("program%d", i) }

// build builds the programs and tests, and one program of all fragments, and returns their directory.
func build(t *testing.T, s *servers, found []block) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	// An overlay lays the blocks over this directory; nothing is written into it.
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	temp := t.TempDir()
	lay := func(pkg, name, source string) {
		file := filepath.Join(temp, pkg+"-"+name)
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(dir, pkg, name)] = file
	}
	frame, err := os.ReadFile(filepath.Join("testdata", "fragments", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	lay("fragments", "main.go", string(frame))
	packages := []string{"./fragments"}
	var tests []string
	for i, b := range found {
		b.code = s.instead(b)
		switch {
		case b.program():
			lay(programName(i), "main.go", b.source())
			packages = append(packages, "./"+programName(i))
		case b.test():
			lay(programName(i), "doc_test.go", b.source())
			tests = append(tests, programName(i))
		default:
			lay("fragments", fmt.Sprintf("fragment%d.go", i), b.source())
		}
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	compile := func(args ...string) {
		if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	compile(append([]string{"build", "-buildvcs=false", "-o", bin, "-overlay", file}, packages...)...)
	for _, name := range tests {
		compile("test", "-c", "-vet=off", "-buildvcs=false", "-o", filepath.Join(bin, name), "-overlay", file, "./"+name)
	}
	return bin
}
