package docs

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestModulesOfPrograms lists the modules that a program links with the library. What tests need is not among them:
// a program that does not import redlatchtest does not link miniredis.
func TestModulesOfPrograms(t *testing.T) {
	allowed := []string{
		module, "github.com/redis/go-redis/v9", "github.com/google/uuid", "github.com/petermattis/goid",
		"github.com/cespare/xxhash/v2", "go.uber.org/atomic", "golang.org/x/sys", // by go-redis
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}} {{.ImportPath}}",
		"./reentrant", "./multilock", "./leader", "./httpguard", "./redlatchui")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		of, pkg, hasModule := strings.Cut(strings.TrimSpace(line), " ") // a package of Go itself is of no module
		if hasModule && !slices.Contains(allowed, of) {
			t.Errorf("a program links %s, of module %s", pkg, of)
		}
		if !hasModule && of == "testing" {
			t.Error("a program links package testing")
		}
	}
}
