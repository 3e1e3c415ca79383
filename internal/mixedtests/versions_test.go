package mixedtests

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	own     = "internal/mixedtests" // has the worker, and is in the working tree only
	program = "./" + own + "/worker"
)

// build builds the worker with a version of Redlatch: that of the commit, or without one the working tree's.
//
// The older version lies over the working tree, file by file, and is not a module elsewhere: so the compiler's cache,
// which knows packages by their directories, still has it for the next run.
func build(t *testing.T, commit string) string {
	t.Helper()
	dir := t.TempDir()
	worker := filepath.Join(dir, "worker")
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", worker}
	if commit != "" {
		args = append(args, "-overlay", overlay(t, commit, dir))
	}
	cmd := exec.Command("go", append(args, program)...)
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off") // both versions need the same modules
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the worker with version %q: %v\n%s", commit, err, out)
	}
	return worker
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	must(t, err)
	return dir
}

// older is the last commit before lua/grant.lua. The test is skipped where git does not know it.
func older(t *testing.T) string {
	t.Helper()
	first, err := git(t, "log", "--diff-filter=A", "--format=%H", "--", "lua/grant.lua")
	if err != nil {
		t.Skipf("there is no history of Redlatch to take an older version from: %v", err)
	}
	commits := strings.Fields(string(first))
	if len(commits) == 0 {
		t.Skip("the history of Redlatch does not have the commit that began lua/grant.lua")
	}
	// The last of the list is the first in time.
	parent, err := git(t, "rev-parse", "--verify", "--quiet", commits[len(commits)-1]+"^")
	if err != nil {
		t.Skip("the clone is shallow: it has no commit before lua/grant.lua; git fetch --unshallow gets it")
	}
	return strings.TrimSpace(string(parent))
}

func git(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

// overlay writes the files of a commit into dir, and returns the file that has the go command read them instead of
// the working tree's. A file that the commit does not have is hidden.
func overlay(t *testing.T, commit, dir string) string {
	t.Helper()
	replace := make(map[string]string)
	for _, name := range sources(t) {
		replace[filepath.Join(root(t), name)] = ""
	}
	archive, err := git(t, "archive", "--format=tar", commit)
	must(t, err)
	for files := tar.NewReader(bytes.NewReader(archive)); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if file.Typeflag != tar.TypeReg || !compiled(file.Name) {
			continue
		}
		text, err := io.ReadAll(files)
		must(t, err)
		to := filepath.Join(dir, "older", filepath.FromSlash(file.Name))
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(t, os.WriteFile(to, text, 0o644))
		replace[filepath.Join(root(t), filepath.FromSlash(file.Name))] = to
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	must(t, err)
	list := filepath.Join(dir, "overlay.json")
	must(t, os.WriteFile(list, text, 0o644))
	return list
}

// sources are the files of the working tree that an older version replaces or hides.
func sources(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root(t), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root(t), path)
		if entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if entry.Type().IsRegular() && compiled(filepath.ToSlash(name)) {
			names = append(names, name)
		}
		return err
	})
	must(t, err)
	return names
}

// compiled tells the files of which the library is made, and go.mod and go.sum.
func compiled(name string) bool {
	directory, _, nested := strings.Cut(name, "/")
	switch {
	case !nested:
		return name == "go.mod" || name == "go.sum"
	case strings.HasPrefix(name, own+"/"), strings.HasSuffix(name, "_test.go"):
		return false
	case strings.HasSuffix(name, ".go"), strings.HasSuffix(name, ".lua"):
		return directory != "benchmarks" && directory != "examples" && !strings.Contains(name, "/testdata/")
	}
	return false
}
